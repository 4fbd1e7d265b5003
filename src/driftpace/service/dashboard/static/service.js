// Talking to the service: reads, writes with the page's token, and the banner when nobody answers.
"use strict";

const gone = document.getElementById("gone");
const note = document.getElementById("note");

export function unreachable(is) {
  if (!is) { gone.hidden = true; return; }
  if (!gone.hidden) return;
  const now = new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  gone.textContent = `The service cannot be reached since ${now}. What you see may be old; trying again by itself.`;
  gone.hidden = false;
}

let fading = 0;
export function say(sentence) {
  note.textContent = sentence;
  note.classList.add("there");
  window.clearTimeout(fading);
  fading = window.setTimeout(() => note.classList.remove("there"), 8000);
}

// What a read brought: {ok, status, page}, or null where it was given up or nobody answered.
export async function read(address, signal) {
  try {
    const answer = await fetch(address, { headers: { Accept: "text/html" }, signal });
    unreachable(false);
    if (answer.redirected && new URL(answer.url).pathname === "/login") { // stay here: somebody may be in the middle of a sentence
      gone.textContent = "You are no longer logged in. Load the page again to log in.";
      gone.hidden = false;
      return null;
    }
    return { ok: answer.ok, status: answer.status, page: new DOMParser().parseFromString(await answer.text(), "text/html") };
  } catch (error) {
    if (error.name !== "AbortError") unreachable(true);
    return null;
  }
}

// What came back of a write: {ok, body} or {ok: false, sentence}.
export async function write(address, body, headers = {}) {
  const csrf = document.querySelector('meta[name="csrf-token"]').content;
  let answer;
  try {
    answer = await fetch(address, { method: "POST", body, headers: { ...headers, "X-CSRF-Token": csrf, Accept: "application/json" } });
  } catch {
    unreachable(true);
    return { ok: false, sentence: "The service cannot be reached; nothing is known to have been written. Try again." };
  }
  unreachable(false);
  const said = await answer.json().catch(() => null);
  if (answer.ok) return { ok: true, body: said };
  if (answer.status === 401) return { ok: false, sentence: "You are no longer logged in. Load the page again." };
  return { ok: false, sentence: said?.error?.sentence ?? `The service answered with ${answer.status}.` };
}
