//! The `hlolint` binary: hands the arguments to [`hlolint::cli`] and exits with its code.

fn main() -> std::process::ExitCode {
    hlolint::cli::main()
}
