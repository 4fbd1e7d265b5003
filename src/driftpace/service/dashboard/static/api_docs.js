// API documentation: send the request of a form and show the response.
"use strict";

const csrf = document.querySelector('meta[name="csrf-token"]').content;

function address(form) {
  let path = form.dataset.path;
  const query = new URLSearchParams();
  for (const input of form.querySelectorAll("[data-in]")) {
    if (input.dataset.in === "path") path = path.replace(`{${input.name}}`, encodeURIComponent(input.value));
    else if (input.dataset.in === "query" && input.value !== "") query.set(input.name, input.value);
  }
  return query.size ? `${path}?${query}` : path;
}

function options(form) {
  const headers = { Accept: "application/json", "X-CSRF-Token": csrf };
  for (const input of form.querySelectorAll('[data-in="header"]')) if (input.value !== "") headers[input.name] = input.value;
  const body = form.elements.body?.value;
  if (body) headers["Content-Type"] = form.elements.media?.value ?? "application/json";
  return { method: form.dataset.method, headers, body: body || undefined };
}

async function text(response) {
  if (!/json|text|html/.test(response.headers.get("Content-Type") ?? "")) return `(${(await response.blob()).size} bytes)`;
  const content = await response.text();
  try { return JSON.stringify(JSON.parse(content), null, 2); } catch { return content; }
}

for (const form of document.querySelectorAll("form.try")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const output = form.querySelector("output");
    const url = address(form);
    output.hidden = false;
    output.textContent = "Sending…";
    try {
      const response = await fetch(url, options(form));
      output.textContent = `${form.dataset.method} ${url}\n${response.status} ${response.statusText}\n\n${await text(response)}`;
    } catch {
      output.textContent = "The service cannot be reached.";
    }
  });
}
document.documentElement.classList.add("ready");
