/* The worker that runs the package: begun when it is first needed, ended when a question takes too
 * long, and begun anew for the next one. A later question replaces one that still waits. */

const QUESTION_MS = 20_000
const LOAD_MS = 180_000

export class Engine {
  constructor(files) {
    this.files = files // where Python and the package lie
    this.worker = null
    this.next = 1
    this.waiting = new Map()
  }

  get begun() {
    return this.worker !== null
  }

  /* The text of an answer; throws an error whose message is a sentence for the reader. */
  async ask(ask, text) {
    await this.begin()
    return this.send({ ask, text }, QUESTION_MS, "This took more than 20 seconds and was ended.")
  }

  begin() {
    if (!this.ready) {
      this.worker = new Worker(new URL("planner-worker.js", import.meta.url), { type: "module" })
      this.worker.onmessage = ({ data }) => this.settle(data)
      this.worker.onerror = event => this.end(event.message || "The worker did not start.")
      this.ready = this.send({ load: this.files }, LOAD_MS, "Python did not load in three minutes.")
    }
    return this.ready
  }

  send(message, limit, late) {
    const id = this.next++
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.end(late), limit)
      this.waiting.set(id, { resolve, reject, timer })
      this.worker.postMessage({ ...message, id })
    })
  }

  settle({ id, text, failed }) {
    const { resolve, timer } = this.waiting.get(id)
    if (failed !== undefined) return this.end(`Python failed: ${failed}`)
    clearTimeout(timer)
    this.waiting.delete(id)
    resolve(text)
  }

  end(why) {
    this.worker?.terminate()
    this.worker = this.ready = null
    const left = [...this.waiting.values()]
    this.waiting.clear()
    for (const { reject, timer } of left) {
      clearTimeout(timer)
      reject(new Error(why))
    }
  }
}
