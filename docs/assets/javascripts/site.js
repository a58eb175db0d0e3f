/* What the theme does not do: pasted text is searched as words, commands are copied bare, rows
 * have addresses to copy. */

/* The search takes signs of a flag or a message for operators: `-`, `:`, `+`, `"`. A name is found
 * by all its parts, a whole message by those of its words that a text shares, whatever the titles. */
{
  const QUERY = 2 // the theme's message that carries what was typed
  const LONG = 4 // words from which on it is a sentence
  const MESSAGE = 8 // words from which on it is no name with a value

  function words(text) {
    return text.replace(/[^\p{L}\p{N}.]+|\.(?!\d)/gu, " ").trim().split(" ").filter(Boolean)
  }

  function bare(text) {
    const parts = words(text)
    const name = text.trim().split(/\s/)[0]
    if (/^-|[_:]/.test(name) && parts.length < MESSAGE) {
      const all = words(name)
      return all.map((one, at) => `+${one}${at < all.length - 1 ? "^1" : "*"}`).join(" ")
    }
    if (parts.length < LONG) return parts.join(" ")
    const telling = parts.filter(one => one.length > 2 && !/^[\d.]+$/.test(one))
    return (telling.length ? telling : parts).map(one => `text:${one}^1`).join(" ")
  }

  const post = Worker.prototype.postMessage
  Worker.prototype.postMessage = function (message, ...rest) {
    const query = message?.type === QUERY && typeof message.data === "string"
    return post.call(this, query ? { ...message, data: bare(message.data) } : message, ...rest)
  }
}

/* Paper has every block of a set of tabs, each under the name of its tab. */
for (const tabs of document.querySelectorAll(".tabbed-set")) {
  const names = tabs.querySelectorAll(":scope > .tabbed-labels > label")
  const blocks = tabs.querySelectorAll(":scope > .tabbed-content > .tabbed-block")
  blocks.forEach((block, at) => (block.dataset.tab = names[at].textContent.trim()))
}

/* Of a block with prompts, only what follows a prompt is a command; the rest is output. */
document.addEventListener("click", event => {
  const button = event.target.closest?.("[data-clipboard-target]")
  const code = button && document.querySelector(button.dataset.clipboardTarget)
  if (!code?.querySelector(".gp")) return
  const bare = code.cloneNode(true)
  for (const output of bare.querySelectorAll(".go, .gt")) output.remove()
  for (const prompt of bare.querySelectorAll(".gp")) prompt.textContent = "\u0000"
  button.dataset.clipboardText = bare.textContent
    .split("\n")
    .filter(line => line.includes("\u0000"))
    .map(line => line.replace(/\u0000 ?/g, ""))
    .join("\n")
}, true)

/* What scrolls sideways can be scrolled by keyboard. */
{
  const BOXES = ".md-content :is(.md-typeset__scrollwrap, .table-box, figure, table, pre > code)"
  function reach() {
    for (const box of document.querySelectorAll(BOXES)) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0
    }
  }
  addEventListener("load", reach)
  addEventListener("resize", reach)
}

/* Each row's address can be copied. Without scripts the sign behind its name is a plain link. */
{
  const SIGNS = ".md-content :is(.rule, .option, .entry, .symptom) .headerlink"
  for (const sign of document.querySelectorAll(SIGNS)) {
    const button = document.createElement("button")
    const name = sign.parentElement.querySelector("code, dfn")?.textContent ?? sign.hash.slice(1)
    button.type = "button"
    button.className = "copy-link"
    button.title = "Copy link"
    button.setAttribute("aria-label", `Copy link to ${name}`)
    button.dataset.clipboardText = sign.href // the theme's own buttons copy what this says
    sign.tabIndex = -1 // one stop of the Tab key a row
    sign.after(button)
  }
  // Where the theme says "Copied to clipboard".
  document.querySelector(".md-dialog")?.setAttribute("role", "status")
}

/* Where nothing is at an address, its words are what one searches for. */
{
  const field = document.querySelector(".not-found input")
  if (field) {
    const parts = decodeURI(location.pathname).split("/").filter(Boolean)
    field.value = (parts.pop() ?? "").replace(/\.html$|[^\p{L}\p{N}]+/gu, " ").trim()
  }
}

/* The planner's form, where there is one; from a folder a browser reads no modules. */
if (document.getElementById("planner") && location.protocol !== "file:") {
  const script = document.createElement("script")
  script.type = "module"
  script.src = new URL("planner.js", document.currentScript.src)
  document.head.append(script)
}
