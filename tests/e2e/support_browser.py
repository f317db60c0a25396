"""A page in a real browser that holds a view as a client would, and tells what the view shows."""

import html
import json
import os
import re
import subprocess

import pytest

CHROMIUM = "/usr/bin/chromium"
SECONDS = 120
# What a client makes of a view that may reach nothing.
POLICY = ("default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
          "img-src data:; frame-src 'none'; object-src 'none'")
OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
           "--disable-background-networking", "--disable-component-update", "--disable-sync",
           "--disable-breakpad", "--disable-dev-shm-usage", "--virtual-time-budget=20000"]
# The frame may be looked into by this page alone; a client would not allow that.
HOST = """<!doctype html><meta charset="utf-8"><pre id="told"></pre>
<iframe id="view" sandbox="allow-scripts allow-same-origin" width="600" height="400"></iframe>
<script>
const given = GIVEN, frame = document.getElementById('view');
const methods = [], sizes = [], strange = [];
const post = (message) => frame.contentWindow.postMessage({ jsonrpc: '2.0', ...message }, '*');
let initialize;
window.addEventListener('message', (event) => {
  const message = event.data;
  if (event.source !== frame.contentWindow || message.jsonrpc !== '2.0') {
    strange.push(message);
    return;
  }
  methods.push(message.method ?? `answer ${message.id}`);
  if (message.method === 'ui/initialize') {
    initialize = message.params;
    post({ id: message.id, result: { protocolVersion: '2026-01-26', hostCapabilities: {},
      hostInfo: { name: 'test', version: '1' }, hostContext: { theme: 'dark' } } });
  }
  if (message.method === 'ui/notifications/size-changed') sizes.push(message.params);
  if (message.method === 'ui/notifications/initialized') {
    post({ method: 'ui/notifications/tool-input', params: { arguments: {} } });
    for (const one of given.messages) post(one);
    post({ id: 77, method: 'ui/resource-teardown', params: { reason: 'test' } });
  }
  if (message.id === 77) setTimeout(tell, 200);
});
function tell() {
  const shown = frame.contentDocument.getElementById('run');
  const texts = (selector) => [...shown.querySelectorAll(selector)].map((one) => one.textContent);
  const names = new Set([...shown.querySelectorAll('*')].map((one) => one.localName));
  document.getElementById('told').textContent = JSON.stringify({ methods, sizes, strange,
    initialize, text: shown.innerText, titles: texts('h2'), cells: texts('td'),
    columns: texts('th'), items: texts('li'), names: [...names],
    pictures: [...shown.querySelectorAll('img')].map((one) => [one.naturalWidth, one.complete]),
    scheme: frame.contentDocument.documentElement.style.colorScheme });
}
frame.srcdoc = given.html;
</script>
"""


def show(place, view, *messages):
    """The view of a server after these messages of its host, as the page saw it."""
    if not os.access(CHROMIUM, os.X_OK):
        pytest.skip("there is no Chromium here")
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    given = {"html": view.replace("<head>", "<head>" + policy, 1), "messages": messages}
    page = place / "host.html"
    page.write_text(HOST.replace("GIVEN", json.dumps(given).replace("<", "\\u003c")))
    ended = subprocess.run(
        [CHROMIUM, *OPTIONS, f"--user-data-dir={place / 'browser'}", "--dump-dom", page.as_uri()],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS, check=True,
        env={**os.environ, "HOME": str(place)})
    told = re.search(r'<pre id="told">(.*?)</pre>', ended.stdout.decode(), re.DOTALL).group(1)
    assert told, ended.stderr.decode()[-2000:]
    return json.loads(html.unescape(told))
