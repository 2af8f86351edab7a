// What a reader types in; whether a buffer is meant out.

const FILTER_HELP = "Words are looked for everywhere; op:softmax, file:model.py, shape:bf16, kind:gradient in one place; >64MiB, <1MiB by size";

/** What is searched of a buffer. */
function searchOf(buffer) {
  return searchParts({ op: buffer.op_name, source: buffer.source, shape: buffer.shape, name: nameOf(buffer),
    kind: `${buffer.kind} ${buffer.view.category} ${CATEGORIES[buffer.view.category]}${buffer.is_donated ? " donated" : ""}` });
}

/** All of it, and each part by its prefix. */
function searchParts({ source, ...parts }) {
  parts.file = source ? `${source.file}:${source.line} ${source.function || ""}` : "";
  for (const part of Object.keys(parts)) parts[part] = parts[part].toLowerCase();
  return { ...parts, all: Object.values(parts).join("\n") };
}

/** Every word of the text must hold. */
function filterOf(text) {
  const tests = text.toLowerCase().replace(/([<>])\s+/g, "$1").replace(/([<>]\d+(?:\.\d+)?)\s+(b|[kmg]i?b?)(?=\s|$)/g, "$1$2").split(/\s+/).filter(Boolean).map(testOf);
  return (buffer) => tests.every((test) => test(buffer));
}

function testOf(word) {
  const bySize = /^([<>])(\d+(?:\.\d+)?)(b|[kmg]i?b?)?$/.exec(word);
  if (bySize) {
    const bytes = Number(bySize[2]) * KIB ** ["b", "k", "m", "g"].indexOf((bySize[3] || "m")[0]);
    return bySize[1] === ">" ? (buffer) => buffer.bytes > bytes : (buffer) => buffer.bytes < bytes;
  }
  const byPart = /^(op|file|shape|kind|name):(.+)$/.exec(word);
  return byPart ? (buffer) => buffer.search[byPart[1]].includes(byPart[2]) : (buffer) => buffer.search.all.includes(word);
}
