/* The worker that runs the package: begun when it is first needed, ended when a question takes too
 * long, and begun anew for the next one. A later question replaces one that still waits. */

const QUESTION_MS = 20_000
const LOAD_MS = 180_000
const NOT_LOADED = "Python did not load: check the connection and compute again."
const FAILED = "The package failed on this question, a fault of its own: report it with this page's address."

/* An error whose message is written for the reader. */
export class Sentence extends Error {}

export class Engine {
  constructor(files) {
    this.files = files // where Python and the package lie
    this.worker = null
    this.next = 1
    this.waiting = new Map()
    this.latest = 0
    this.turn = Promise.resolve() // of the question before
  }

  get begun() {
    return this.worker !== null
  }

  /* The text of an answer; throws a Sentence. Its time begins when the question before is done. */
  ask(ask, text) {
    const mine = ++this.latest
    const answer = this.turn.then(() => this.begin()).then(() => {
      if (mine !== this.latest) throw new Sentence("A later question took its place.")
      return this.send({ ask, text }, QUESTION_MS, "This took more than 20 seconds and was ended.")
    })
    this.turn = answer.catch(() => {})
    return answer
  }

  begin() {
    if (!this.ready) {
      this.worker = new Worker(new URL("planner-worker.js", import.meta.url), { type: "module" })
      this.worker.onmessage = ({ data }) => this.settle(data)
      this.worker.onerror = () => this.end(NOT_LOADED)
      this.ready = this.send({ load: this.files }, LOAD_MS, "Python did not load in three minutes.")
    }
    return this.ready
  }

  send(message, limit, late) {
    const id = this.next++
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.end(late), limit)
      this.waiting.set(id, { resolve, reject, timer, loads: "load" in message })
      this.worker.postMessage({ ...message, id })
    })
  }

  settle({ id, text, failed }) {
    const asked = this.waiting.get(id)
    if (!asked) return // of a worker that was ended
    const { resolve, timer, loads } = asked
    if (failed) return this.end(loads ? NOT_LOADED : FAILED)
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
      reject(new Sentence(why))
    }
  }
}
