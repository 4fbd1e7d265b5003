// Talking to the service: reads, and writes with the page's token.
"use strict";
import { clear, clock, warn } from "./trouble.js";

const LATER = 5; // seconds until it is worth trying again, unless the service says when
const OUT = "You are no longer logged in. Load the page again to log in.";
const note = document.getElementById("note");

let fading = 0;
export function say(sentence) {
  note.textContent = sentence;
  note.classList.add("there");
  window.clearTimeout(fading);
  fading = window.setTimeout(() => note.classList.remove("there"), 8000);
}

export function unreachable(is) {
  if (is) warn("unreachable", `The service cannot be reached since ${clock()}. What you see may be old; trying again by itself.`);
  else clear("unreachable");
}

// What a read brought: {ok: true, page}, or {ok: false, status, sentence, wait}, or null where it was given up.
export async function read(address, signal) {
  try {
    const answer = await fetch(address, { headers: { Accept: "text/html" }, signal });
    unreachable(false);
    if (answer.redirected && new URL(answer.url).pathname === "/login") { // stay here: somebody may be in the middle of a sentence
      warn("out", OUT);
      return { ok: false, status: 401, sentence: OUT, wait: LATER };
    }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (answer.ok) { clear("out"); return { ok: true, page }; }
    const wait = Math.min(60, Number(answer.headers.get("Retry-After")) || LATER);
    const sentence = answer.status === 503 ? "The service is busy" : page.querySelector("h1")?.textContent ?? `The service answered with ${answer.status}`;
    return { ok: false, status: answer.status, sentence, wait };
  } catch (error) {
    if (error.name === "AbortError") return null;
    unreachable(true);
    return { ok: false, status: 0, sentence: "The service cannot be reached", wait: LATER };
  }
}

// What came back of a write: {ok: true, body} or {ok: false, status, sentence}. A service that was begun anew takes only what a page
// of its own sends along, and refuses the rest before it looks at it: then the page is read for that, and the write sent again.
export async function write(address, body, headers = {}) {
  let answer = await post(address, body, headers);
  if (answer.code === "csrf" && (await renew())) answer = await post(address, body, headers);
  return answer.code === "csrf" ? { ...answer, sentence: "The service was begun anew meanwhile. Load the page again." } : answer;
}

const token = (page) => page.querySelector('meta[name="csrf-token"]');

async function post(address, body, headers) {
  let answer;
  try {
    answer = await fetch(address, { method: "POST", body, headers: { ...headers, "X-CSRF-Token": token(document).content, Accept: "application/json" } });
  } catch {
    unreachable(true);
    return { ok: false, status: 0, sentence: "The service cannot be reached; nothing is known to have been written. Try again." };
  }
  unreachable(false);
  const said = await answer.json().catch(() => null);
  if (answer.ok) return { ok: true, body: said };
  if (answer.status === 401) return { ok: false, status: 401, sentence: OUT };
  return { ok: false, status: answer.status, code: said?.error?.code, about: named(said?.error?.sentence), sentence: plain(said?.error?.sentence ?? `The service answered with ${answer.status}.`) };
}

// A sentence that names a call and its parameter, as programs are told it, without the call: deliveries(body=...) is the file here.
function plain(sentence) {
  const said = sentence.replace(/^[\w.]+\((\w+)=\.\.\.\) /, (_, name) => `${name === "body" ? "the file" : name} `).replace(/^[\w.]+: /, "");
  return said.charAt(0).toUpperCase() + said.slice(1);
}

// The field that such a sentence is about, where it names one.
function named(sentence = "") { return /^[\w.]+\((\w+)=\.\.\.\) /.exec(sentence)?.[1]; }

async function renew() {
  const answer = await read(window.location.pathname);
  if (!answer?.ok) return false;
  keep(answer.page);
  return true;
}

export function keep(page) {
  if (token(page) !== null) token(document).content = token(page).content;
}
