// Requests to the service: reads, and writes with the CSRF token of the page.
"use strict";
import { clear, clock, warn } from "./banner.js";

const LATER = 5; // seconds until a retry, unless the service sends Retry-After
const OUT = "Your session has expired. Reload the page to log in.";
const note = document.getElementById("note");

let fading = 0;
export function announce(message) {
  note.textContent = message;
  note.classList.add("there");
  window.clearTimeout(fading);
  fading = window.setTimeout(() => note.classList.remove("there"), 8000);
}

export function setUnreachable(is) {
  if (is) warn("unreachable", `The service has been unreachable since ${clock()}. This page may be out of date; retrying.`);
  else clear("unreachable");
}

// Load a page: {ok: true, page}, {ok: false, status, message, wait}, or null if aborted.
export async function read(address, signal) {
  try {
    const answer = await fetch(address, { headers: { Accept: "text/html" }, signal });
    setUnreachable(false);
    if (answer.redirected && new URL(answer.url).pathname === "/login") { // stay on the page: the user may be typing
      warn("out", OUT);
      return { ok: false, status: 401, message: OUT, wait: LATER };
    }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (answer.ok) { clear("out"); return { ok: true, page }; }
    const wait = Math.min(60, Number(answer.headers.get("Retry-After")) || LATER);
    const message = answer.status === 503 ? "The service is busy" : page.querySelector("h1")?.textContent ?? `The service answered with ${answer.status}`;
    return { ok: false, status: answer.status, message, wait };
  } catch (error) {
    if (error.name === "AbortError") return null;
    setUnreachable(true);
    return { ok: false, status: 0, message: "The service cannot be reached", wait: LATER };
  }
}

// Send a write: {ok: true, body} or {ok: false, status, code, parameter, message}. A restarted service refuses the CSRF token of older
// pages: then the page is loaded again for a new one, and the write is repeated.
export async function write(address, body, headers = {}) {
  let answer = await post(address, body, headers);
  if (answer.code === "csrf" && (await renewToken())) answer = await post(address, body, headers);
  return answer.code === "csrf" ? { ...answer, message: "The service was restarted. Reload the page." } : answer;
}

const token = (page) => page.querySelector('meta[name="csrf-token"]');

async function post(address, body, headers) {
  let answer;
  try {
    answer = await fetch(address, { method: "POST", body, headers: { ...headers, "X-CSRF-Token": token(document).content, Accept: "application/json" } });
  } catch {
    setUnreachable(true);
    return { ok: false, status: 0, message: "The service cannot be reached; the change may not have been saved. Try again." };
  }
  setUnreachable(false);
  const received = await answer.json().catch(() => null);
  if (answer.ok) return { ok: true, body: received };
  if (answer.status === 401) return { ok: false, status: 401, message: OUT };
  const error = received?.error;
  return { ok: false, status: answer.status, code: error?.code, parameter: error?.parameter ?? undefined, message: error ? formMessage(error) : `The service answered with status ${answer.status}.` };
}

// The message of an error for a form: the parameter without the name of the operation; a body is the uploaded file.
function formMessage({ parameter, problem }) {
  const subject = parameter === "body" ? "the file" : parameter;
  const message = subject ? `${subject} ${problem}` : problem;
  return message.charAt(0).toUpperCase() + message.slice(1);
}

async function renewToken() {
  const answer = await read(window.location.pathname);
  if (!answer?.ok) return false;
  keepToken(answer.page);
  return true;
}

export function keepToken(page) {
  if (token(page) !== null) token(document).content = token(page).content;
}
