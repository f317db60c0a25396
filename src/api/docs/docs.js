// Shows /openapi.json, and lets its operations be tried. Everything is put in as text: nothing of
// the document or of an answer can become markup.
'use strict';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// Paragraphs, and `code`.
function prose(text) {
  const parts = (text ?? '').split('\n\n').filter((part) => part);
  return parts.map((part) => make('p', {}, ...part.split('`').map(
    (piece, index) => (index % 2 ? make('code', {}, piece) : piece))));
}

function resolve(api, schema) {
  const name = schema?.$ref?.split('/').pop();
  return (name ? api.components.schemas[name] : schema) ?? {};
}

function typeName(schema) {
  if (schema.$ref) return schema.$ref.split('/').pop();
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(' | ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  for (const word of ['anyOf', 'oneOf']) {
    if (schema[word]) return schema[word].map(typeName).join(' | ');
  }
  if (schema.type === 'array') return `${typeName(schema.items ?? {})}[]`;
  return [schema.type ?? 'any'].flat().join(' | ');
}

function example(api, schema, depth = 0) {
  const real = resolve(api, schema);
  if (real.default !== undefined) return real.default;
  if (real.const !== undefined) return real.const;
  if (real.enum) return real.enum[0];
  if (real.anyOf) return example(api, real.anyOf[0], depth);
  const type = [real.type].flat()[0];
  if (type === 'array') return depth < 4 ? [example(api, real.items ?? {}, depth + 1)] : [];
  if (type === 'object') {
    const names = real.required ?? [];
    return Object.fromEntries(names.filter((name) => real.properties?.[name]).map(
      (name) => [name, name === 'code' ? 'print(6*7)'
        : example(api, real.properties[name], depth + 1)]));
  }
  return { integer: real.minimum ?? 1, number: 1, boolean: false, string: '' }[type] ?? null;
}

function members(api, schema) {
  const real = resolve(api, schema);
  const rows = Object.entries(real.properties ?? {}).map(([name, member]) => make('tr', {},
    make('td', {}, make('code', {}, name), real.required?.includes(name) ? ' *' : ''),
    make('td', {}, make('code', {}, typeName(member))),
    make('td', {}, member.description ?? '')));
  return rows.length ? make('table', {}, ...rows) : make('p', {}, make('code', {}, typeName(real)));
}

function contents(api, content) {
  return Object.entries(content ?? {}).flatMap(([type, { schema }]) => [
    make('p', { class: 'note' }, `${type}: `, make('code', {}, typeName(schema ?? {}))),
    ...(schema?.$ref ? [members(api, schema)] : [])]);
}

function form(api, path, method, operation) {
  const inputs = (operation.parameters ?? []).map((parameter) => ({
    parameter, input: make('input', { 'aria-label': parameter.name, spellcheck: 'false' }) }));
  const type = Object.keys(operation.requestBody?.content ?? {})[0];
  const body = type ? make('textarea', { 'aria-label': 'Body', spellcheck: 'false' }) : null;
  if (type === 'application/json') {
    body.value = JSON.stringify(
      example(api, operation.requestBody.content[type].schema), null, 2);
  }
  const answer = make('pre', { hidden: '' });
  const button = make('button', { type: 'button' }, 'Send');
  button.addEventListener('click', async () => {
    answer.hidden = false;
    answer.textContent = '...';
    try {
      answer.textContent = await send(path, method, inputs, body && { type, text: body.value });
    } catch (error) {
      answer.textContent = String(error);
    }
  });
  const rows = inputs.map(({ parameter, input }) => make('tr', {},
    make('td', {}, make('code', {}, parameter.name), parameter.required ? ' *' : '',
      make('br'), `in ${parameter.in}`),
    make('td', {}, parameter.description ?? '', make('br'),
      make('code', {}, typeName(parameter.schema ?? {}))),
    make('td', {}, input)));
  return [rows.length ? make('table', {}, ...rows) : null, body, button, answer];
}

async function send(path, method, inputs, body) {
  const headers = {};
  const query = new URLSearchParams();
  let place = path;
  for (const { parameter, input } of inputs) {
    if (!input.value && parameter.in !== 'path') continue;
    if (parameter.in === 'path') {
      const plain = parameter['x-slashes'] ? input.value.split('/') : [input.value];
      place = place.replace(`{${parameter.name}}`, plain.map(encodeURIComponent).join('/'));
    } else if (parameter.in === 'query') {
      query.set(parameter.name, input.value);
    } else {
      headers[parameter.name] = input.value;
    }
  }
  const token = document.getElementById('token').value;
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body && body.text) headers['Content-Type'] = body.type;
  const response = await fetch(place + (query.size ? `?${query}` : ''), {
    method: method.toUpperCase(), headers, body: body && body.text ? body.text : undefined });
  const text = await response.text();
  let shown = text;
  if (/json/.test(response.headers.get('Content-Type') ?? '')) {
    try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* as it is */ }
  }
  return `${response.status} ${response.headers.get('Content-Type') ?? ''}\n\n${shown}`;
}

function show(api, path, method, operation) {
  const section = make('details', { id: operation.operationId },
    make('summary', {}, make('span', { class: `method ${method}` }, method.toUpperCase()),
      make('code', {}, path), ' ', operation.summary ?? ''));
  // Made when it is opened: few are.
  section.addEventListener('toggle', () => {
    if (!section.open || section.dataset.made) return;
    section.dataset.made = 'yes';
    const rights = operation['x-rights'];
    section.append(...prose(operation.description),
      make('p', { class: 'note' }, operation.security?.length === 0 ? 'Needs no token.'
        : rights ? `Needs the right ${rights}.` : 'Needs a token.'),
      ...form(api, path, method, operation).filter((one) => one));
    if (operation.requestBody) {
      section.append(make('h4', {}, 'Body'), ...contents(api, operation.requestBody.content));
    }
    for (const [status, answer] of Object.entries(operation.responses)) {
      section.append(make('h4', {}, `${status} ${answer.description}`),
        ...contents(api, answer.content));
    }
  });
  return section;
}

function openWanted() {
  const wanted = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (wanted instanceof HTMLDetailsElement) {
    wanted.open = true;
    wanted.scrollIntoView();
  }
}

async function begin() {
  const api = await (await fetch('/openapi.json')).json();
  document.getElementById('version').textContent =
    `Version ${api.info.version}, OpenAPI ${api.openapi}`;
  document.getElementById('introduction').append(...prose(api.info.description));
  const tags = new Map();
  for (const [path, item] of Object.entries(api.paths)) {
    for (const method of METHODS.filter((name) => item[name])) {
      const tag = item[method].tags?.[0] ?? 'other';
      tags.set(tag, [...(tags.get(tag) ?? []), { path, method, operation: item[method] }]);
    }
  }
  for (const [tag, found] of tags) {
    document.getElementById('contents').append(make('h2', {}, tag), ...found.map(
      ({ operation }) => make('a', { href: `#${operation.operationId}` }, operation.operationId)));
    document.getElementById('operations').append(make('h2', {}, tag), ...found.map(
      ({ path, method, operation }) => show(api, path, method, operation)));
  }
  for (const [name, schema] of Object.entries(api.components.schemas)) {
    document.getElementById('schemas').append(make('details', {},
      make('summary', {}, make('code', {}, name)), members(api, schema)));
  }
  window.addEventListener('hashchange', openWanted);
  openWanted();
  document.body.dataset.ready = 'yes';
}

begin().catch((error) => {
  document.getElementById('introduction').textContent = `The document cannot be read: ${error}`;
});
