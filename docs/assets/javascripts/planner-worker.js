/* Runs the package itself, under Pyodide, beside the page: a question that takes too long is ended
 * by ending the worker. It is told where its files lie, then asked in text and answers in text. */

let answering = null

async function load({ python, archive }) {
  const { loadPyodide } = await import(new URL("pyodide.mjs", python))
  const [runtime, packed] = await Promise.all([
    loadPyodide({ indexURL: python }),
    fetch(archive).then(reply => {
      if (!reply.ok) throw new Error(`${reply.status} for ${archive}`)
      return reply.arrayBuffer()
    }),
  ])
  runtime.unpackArchive(packed, "zip")
  return runtime.pyimport("vllm_parallel.planned.answering")
}

addEventListener("message", async ({ data }) => {
  const { id, load: files, ask, text } = data
  try {
    if (files) answering = load(files)
    const module = await answering
    postMessage({ id, text: files ? "" : module[ask](text) })
  } catch (error) {
    console.warn(error) // in words of this Python and this browser; the reader gets a sentence
    postMessage({ id, failed: true })
  }
})
