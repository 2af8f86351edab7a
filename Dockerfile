# A static hlolint and nothing else:
#   docker build -t hlolint . && docker run --rm -v "$PWD/dump:/dump:ro" hlolint check /dump
FROM rust:1.95-alpine3.22 AS build
RUN apk add --no-cache musl-dev
WORKDIR /src
COPY . .
RUN cargo build --release --locked --bin hlolint && strip target/release/hlolint

FROM scratch
COPY --from=build /src/target/release/hlolint /hlolint
ENTRYPOINT ["/hlolint"]
