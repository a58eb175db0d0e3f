/* A config in the part of an address that no server is sent: packed, and unpacked with a limit, as
 * anyone may have written the address. */

async function through(stream, bytes, limit) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader()
  const pieces = []
  let length = 0
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return new Uint8Array(await new Blob(pieces).arrayBuffer())
    length += value.length
    if (length > limit) throw new Error("too long")
    pieces.push(value)
  }
}

/* A text as letters of an address. */
export async function pack(text) {
  const bytes = await through(new CompressionStream("deflate-raw"), text, Infinity)
  const letters = Array.from(bytes, byte => String.fromCharCode(byte)).join("")
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")
}

/* The text again; throws where it has more bytes than a limit, or is none. */
export async function unpack(packed, limit) {
  const letters = atob(packed.replaceAll("-", "+").replaceAll("_", "/"))
  const bytes = Uint8Array.from(letters, letter => letter.charCodeAt(0))
  return new TextDecoder("utf-8", { fatal: true }).decode(await through(new DecompressionStream("deflate-raw"), bytes, limit))
}
