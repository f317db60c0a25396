// Looks for what a person would look at twice in the tree of a program. The reader of a run's own jar,
// before the first line runs, and first part of the program that only reads others; nothing of what is
// read is executed here. Who uses it has parseText(), which makes a tree of a text.
//
// Names are followed through imports and simple declarations, and texts through what is put together
// of constants. That is all: a program that wants to hide something can. Of what is found only the
// name of a rule, a line and a name from the program are told, and never a value.

const FOLDED_LIMIT = 20000; // characters of a text that is put together
const RULE_LIMIT = 20; // findings of one rule: many of one kind hide none of another
const DEPTH_LIMIT = 60; // of names that stand for others

const EVALUATING = new Set(['eval', 'Function', 'globalThis.eval', 'globalThis.Function', 'global.eval',
                            'window.eval', 'global.Function']);
const SPAWNING = /^(child_process(\/promises)?\.\w+|cluster\.fork|process\.execve|Deno\.(run|Command)|Bun\.spawn\w*)$/;
const RUNNING = /^vm\.(run\w+|Script|compileFunction|SourceTextModule)$/;
const DESERIALIZING = /^(v8\.deserialize|node-serialize\.unserialize|serialize-to-js\.deserialize|funcster\.\w+)$/;
const NATIVE = /^(process\.dlopen|process\.(binding|_linkedBinding)|ffi-napi\.\w+|koffi\.\w+|Deno\.dlopen)$/;
const SOCKETS = /^(net\.(connect|createConnection|createServer|Socket)|dgram\.createSocket|tls\.(connect|createServer)|https?\.createServer|http2\.\w+|WebSocket|ws\.\w+)$/;
const REQUESTS = /^(https?\.(get|request)|fetch|globalThis\.fetch|axios(\.\w+)?|got(\.\w+)?|node-fetch(\.\w+)?|undici\.\w+|dns(\.promises)?\.\w+|XMLHttpRequest)$/;
const REMOVING = /^(fs|fs\.promises|fs\/promises)\.(rm|rmSync|rmdir|rmdirSync|unlink|unlinkSync|truncate|truncateSync)$/;
const WRITING = /^(fs|fs\.promises|fs\/promises)\.(write|append|copy|rename|mkdir|create|chmod|chown|symlink|link)\w*$/;
const INTERNALS = new Set(['process.mainModule', 'process.getBuiltinModule', 'module.constructor',
                           'require.main', 'require.cache', 'module.parent']);
const DANGEROUS_WORDS = new Set(['eval', 'Function', 'constructor', 'child_process', 'exec', 'execSync',
                                 'spawn', 'require', 'process', 'mainModule', 'binding', 'fs', 'net']);

const SECRET_PATHS = /\/etc\/(passwd|shadow|sudoers|gshadow|ssh\b)|(^|\/)\.ssh\/|\bid_(rsa|ed25519|ecdsa)\b|\.aws\/credentials|\.kube\/config|\.docker\/config\.json|\.git-credentials|(^|\/)\.(netrc|npmrc)\b|\.pgpass\b|\/proc\/(self|\d+)\/(environ|mem|maps|cmdline|fd)\b|\/var\/run\/secrets|\/run\/secrets|(^|\/)\.bash_history\b|wallet\.dat|\/root\/\./;
const ESCAPE_PATHS = /\/proc\/1\/(root|ns|environ|cwd)|\/proc\/sys\/kernel\/core_pattern|release_agent|notify_on_release|\/sys\/fs\/cgroup|docker\.sock|containerd\.sock|crio\.sock|\bnsenter\s+-|\bunshare\s+-|\/dev\/(mem|kmem|kmsg|port)\b|\/proc\/kcore|\/proc\/kallsyms|\/proc\/sysrq-trigger|\bLD_PRELOAD\b/;
const METADATA = /169\.254\.169\.254|metadata\.google\.internal|fd00:ec2::254|100\.100\.100\.200/;
const REVERSE_SHELL = /\/dev\/(tcp|udp)\/[\w.$]|\b(nc|ncat|netcat)\b[^\n]{0,80}\s-\w*e\s|\b(ba|z|da)?sh\s+-i\b|\bsocat\b[^\n]{0,120}\bexec:|mkfifo[^\n]{0,120}\b(nc|ncat)\b/i;
const SHELL = /\brm\s+(-\w+\s+)*-\w*[rf]\w*\s+(-\w+\s+)*(--no-preserve-root\s+)?["']?(\/|~|\*|\$HOME|\.(\s|$))|\bmkfs(\.\w+)?\s|\bdd\s+if=[^\n]{0,80}of=\/dev\/|>\s*\/dev\/(sd|nvme|vd)|:\(\)\s*\{|\b(curl|wget)\b[^\n|]{0,200}\|\s*(sudo\s+)?(ba|z|da)?sh\b|base64\s+(-d|--decode)[^\n]{0,80}\|\s*\w*sh\b|\bchmod\s+(-R\s+)?[0-7]*777\s+\/|\bcrontab\s+-|\/etc\/(crontab|cron\.d)|authorized_keys/;
const MINING = /stratum\+(tcp|ssl):\/\/|\bxmrig\b|\bminerd\b|\bcryptonight\b|\bcoinhive\b/i;
const TRAVERSAL = /(\.\.\/){3,}/;
const PLAIN_HTTP = /^http:(?!\/\/(localhost|127\.|\[::1\]))/;
const SECRETS = [
    ['a cloud access key', /\b(AKIA|ASIA)[0-9A-Z]{16}\b/],
    ['an access token', /\bgh[pousr]_[A-Za-z0-9]{36}|\bgithub_pat_\w{22,}|\bglpat-[\w-]{20}|\bxox[abprs]-[\w-]{10,}|\bhf_[A-Za-z0-9]{30,}|\bnpm_[A-Za-z0-9]{36}|\bSG\.[\w-]{16,}\.[\w-]{16,}/],
    ['an API key', /\bsk-[A-Za-z0-9_-]{20,}|\b[sr]k_live_[A-Za-z0-9]{16,}|\bAIza[\w-]{35}/],
    ['a private key', /-----BEGIN [A-Z ]*PRIVATE KEY-----/],
    ['a signed token', /\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}/],
    ['a password in an address', /\b[a-z][a-z0-9+]{2,}:\/\/[^\s:/@]{1,64}:(?!\$|\{|<|password@)[^\s:/@]{6,}@/],
];
const SECRET_NAMES = /(passw(or)?d|secret|api_?key|access_?key|auth_?token|private_?key|credential)/i;
const PLACEHOLDER = /example|change|your|dummy|sample|placeholder|xxx|\*\*\*|<|\$\{|todo|test|\s/i;
const INJECTION = /\b(ignore|disregard|forget|override)\b[^.\n]{0,30}\b(previous|prior|above|earlier|all|your|the)\b[^.\n]{0,20}\b(instructions?|prompts?|rules|guidelines|directions)\b|<\|(im_start|im_end|system|endoftext)\|>|\[\/?INST\]|<<\/?SYS>>|\b(reveal|print|show|repeat|output|leak)\b[^.\n]{0,30}\b(system|hidden|initial) prompt\b|\byou are now (dan|in developer mode|jailbroken|unrestricted)\b|\bdo not (tell|inform|alert|mention[^.\n]{0,15} to) the user\b|\bnew (system )?instructions\s*:/gi;
const HIDDEN = /[\u202a-\u202e\u2066-\u2069]/g;
const CONFUSING_NAME = /^_0x[0-9a-f]{4,}$/;

function looksSecret(name, text) {
    return SECRET_NAMES.test(name) && text.length >= 12 && !PLACEHOLDER.test(text) &&
           /[A-Za-z]/.test(text) && /\d/.test(text) && new Set(text).size >= 8;
}

function plainModule(name) {
    return name.startsWith('node:') ? name.slice('node:'.length) : name;
}

// `locate` finds the place in what was written of one in the tree.
class Scan {
    constructor(tree, source, locate = (place) => place) {
        this.source = source;
        this.locate = locate;
        this.names = new Map(); // name in the program -> what it stands for
        this.values = new Map(); // name that is declared once -> node; null: more often
        this.depth = 0;
        this.found = [];
        this.counts = new Map(); // by rule
        this.nodes = [];
        walk(tree, (node) => { this.nodes.push(node); });
    }

    run() {
        this.nodes.forEach((node) => this.learn(node));
        for (const [name, value] of this.values) {
            const target = value === null ? undefined : this.dotted(value);
            if (target !== undefined && target !== name && !this.names.has(name)) {
                this.names.set(name, target);
            }
        }
        this.nodes.forEach((node) => this.look(node));
        const runs = this.found.some(([rule]) => ['process.spawn', 'code.eval', 'code.obfuscated'].includes(rule));
        this.nodes.forEach((node) => this.lookAtText(node, runs));
        this.lookAtSource();
        return this.found;
    }

    add(rule, node, subject = '') {
        const count = this.counts.get(rule) ?? 0;
        if (count === RULE_LIMIT) {
            return;
        }
        const line = typeof node === 'number' ? node : this.lineOf(node);
        if (!this.found.some(([one, at]) => one === rule && at === line)) {
            this.found.push([rule, line, subject]);
            this.counts.set(rule, count + 1);
        }
    }

    lineOf({ loc }) {
        return loc ? this.locate({ line: loc.start.line, column: loc.start.column + 1 }).line : 0;
    }

    // --- what names stand for

    learn(node) {
        if (node.type === 'ImportDeclaration') {
            const module = plainModule(`${node.source.value}`);
            for (const one of node.specifiers) {
                const part = one.imported ? `.${one.imported.name ?? one.imported.value}` : '';
                this.names.set(one.local.name, module + (part === '.default' ? '' : part));
            }
        } else if (node.type === 'VariableDeclarator' && node.init) {
            this.learnDeclaration(node.id, node.init);
        } else if (node.type === 'AssignmentExpression' && node.left.type === 'Identifier') {
            this.learnDeclaration(node.left, node.right);
        } else if ((node.type === 'FunctionDeclaration' || node.type === 'ClassDeclaration') && node.id) {
            this.values.set(node.id.name, null);
        }
    }

    learnDeclaration(target, value) {
        if (target.type === 'Identifier') {
            this.values.set(target.name, this.values.has(target.name) ? null : value);
        } else if (target.type === 'ObjectPattern') {
            const base = this.dotted(value);
            for (const one of base === undefined ? [] : target.properties) {
                if (one.value?.type === 'Identifier' && one.key?.name) {
                    this.names.set(one.value.name, `${base}.${one.key.name}`);
                }
            }
        }
    }

    dotted(node, depth = 0) {
        if (depth > 20 || this.depth > DEPTH_LIMIT || !node) {
            return undefined;
        }
        this.depth += 1;
        try {
            return this.nameOf(node, depth);
        } finally {
            this.depth -= 1;
        }
    }

    nameOf(node, depth) {
        switch (node.type) {
            case 'Identifier': return this.names.get(node.name) ?? node.name;
            case 'ChainExpression': return this.dotted(node.expression, depth + 1);
            case 'AwaitExpression': return this.dotted(node.argument, depth + 1);
            case 'SequenceExpression': return this.dotted(node.expressions.at(-1), depth + 1);
            case 'ImportExpression': return this.moduleOf(node.source);
            case 'MemberExpression': return this.dottedMember(node, depth);
            case 'CallExpression': {
                const name = this.dotted(node.callee, depth + 1);
                const loads = name === 'require' || name?.endsWith('.require') || name === 'process.getBuiltinModule';
                return loads ? this.moduleOf(node.arguments[0]) : undefined;
            }
            default: return undefined;
        }
    }

    dottedMember(node, depth) {
        const base = this.dotted(node.object, depth + 1);
        const name = node.computed ? this.fold(node.property) : node.property.name;
        if (base === undefined || name === undefined) {
            return undefined;
        }
        return ['globalThis', 'global', 'window', 'self'].includes(base) ? name : `${base}.${name}`;
    }

    moduleOf(node) {
        const name = node ? this.fold(node) : undefined;
        return name === undefined ? undefined : plainModule(name);
    }

    // --- what texts are put together to

    fold(node, depth = 0) {
        if (depth > 40 || this.depth > DEPTH_LIMIT || !node) {
            return undefined;
        }
        this.depth += 1;
        try {
            return this.textOf(node, depth);
        } finally {
            this.depth -= 1;
        }
    }

    textOf(node, depth) {
        if (node.type === 'Literal') {
            return typeof node.value === 'string' ? node.value : undefined;
        }
        if (node.type === 'Identifier') {
            const value = this.values.get(node.name);
            return value ? this.fold(value, depth + 5) : undefined;
        }
        if (node.type === 'BinaryExpression' && node.operator === '+') {
            return this.foldAll([node.left, node.right], '', depth);
        }
        if (node.type === 'TemplateLiteral') {
            const parts = node.quasis.flatMap((one, at) => [one, ...(node.expressions[at] ? [node.expressions[at]] : [])]);
            return this.foldAll(parts, '', depth);
        }
        if (node.type === 'TemplateElement') {
            return node.value.cooked ?? undefined;
        }
        return node.type === 'CallExpression' ? this.foldCall(node, depth) : undefined;
    }

    foldAll(nodes, glue, depth) {
        const parts = nodes.map((one) => this.fold(one, depth + 1));
        return parts.includes(undefined) ? undefined : parts.join(glue).slice(0, FOLDED_LIMIT);
    }

    foldCall(node, depth) {
        const name = this.dotted(node.callee);
        const [first, second] = node.arguments;
        if (name === 'atob' || name === 'Buffer.from') {
            const text = this.fold(first, depth + 1);
            const encoding = name === 'atob' ? 'base64' : this.fold(second, depth + 1);
            return text === undefined || encoding === undefined ? undefined
                : Buffer.from(text, encoding === 'hex' ? 'hex' : 'base64').toString('latin1').slice(0, FOLDED_LIMIT);
        }
        if (name === 'String.fromCharCode') {
            const codes = node.arguments.map((one) => one.value);
            return codes.every((one) => Number.isInteger(one)) ? String.fromCharCode(...codes.slice(0, FOLDED_LIMIT)) : undefined;
        }
        const method = node.callee.type === 'MemberExpression' ? node.callee.property.name : undefined;
        const object = node.callee.object;
        if (method === 'join' && object.type === 'ArrayExpression') {
            return this.foldAll(object.elements.filter(Boolean), this.fold(first) ?? ',', depth);
        }
        if (method === 'reverse' || method === 'split') {
            return undefined;
        }
        if (method === 'toString' || method === 'concat') {
            return this.foldAll([object, ...(method === 'concat' ? node.arguments : [])], '', depth);
        }
        return undefined;
    }

    // --- what is looked for

    look(node) {
        switch (node.type) {
            case 'CallExpression':
            case 'NewExpression': return this.lookAtCall(node);
            case 'MemberExpression': return this.lookAtMember(node);
            case 'ImportExpression':
                return node.source.type === 'Literal' ? undefined : this.lookAtLoading(node, 'import', node.source);
            case 'ImportDeclaration': return undefined;
            case 'Identifier': return this.lookAtUse(node, this.names.get(node.name));
            case 'WhileStatement':
            case 'DoWhileStatement':
            case 'ForStatement': return this.lookAtLoop(node);
            case 'VariableDeclarator': return this.lookAtAssignment(node.id, node.init);
            case 'AssignmentExpression': return this.lookAtAssignment(node.left, node.right);
            case 'Property': return this.lookAtAssignment(node.key, node.value);
            default: return undefined;
        }
    }

    lookAtUse(node, name) {
        if (name === undefined || !name.includes('.')) {
            return;
        }
        if (SPAWNING.test(name)) {
            this.add('process.spawn', node, name);
        } else if (RUNNING.test(name)) {
            this.add('code.eval', node, name);
        } else if (DESERIALIZING.test(name)) {
            this.add('code.deserialize', node, name);
        } else if (NATIVE.test(name)) {
            this.add('code.native', node, name);
        } else if (SOCKETS.test(name)) {
            this.add('network.socket', node, name);
        } else if (name === 'process.env' || name.startsWith('process.env.')) {
            this.add('process.environment', node, 'process.env');
        } else if (WRITING.test(name)) {
            this.add('files.write', node, name);
        }
    }

    lookAtMember(node) {
        const name = this.dotted(node);
        this.lookAtUse(node, name);
        const own = node.computed ? this.fold(node.property) : node.property.name;
        if (name !== undefined && INTERNALS.has(name)) {
            this.add('code.internals', node, name);
        }
        const inner = node.object.type === 'MemberExpression' ? node.object : undefined;
        const innerName = inner && (inner.computed ? this.fold(inner.property) : inner.property.name);
        if (own === 'constructor' && innerName === 'constructor') {
            this.add('code.internals', node, 'constructor.constructor');
        }
        if (node.computed && node.property.type !== 'Literal' && DANGEROUS_WORDS.has(own)) {
            this.add('code.obfuscated', node);
        }
    }

    lookAtCall(node) {
        const name = this.dotted(node.callee);
        const [first] = node.arguments;
        if (name === undefined) {
            return;
        }
        if (EVALUATING.has(name) && !this.values.has(name)) {
            this.add('code.eval', node, name);
            this.lookAtEvaluated(node);
        } else if (name === 'require' || name.endsWith('.require')) {
            if (first && first.type !== 'Literal') {
                this.lookAtLoading(node, 'require', first);
            }
        } else if ((name === 'setTimeout' || name === 'setInterval') && this.fold(first) !== undefined) {
            this.add('code.eval', node, name);
            this.lookAtEvaluated(node);
        } else if (REQUESTS.test(name)) {
            this.add('network.request', node, name);
            if (PLAIN_HTTP.test(this.fold(first) ?? '')) {
                this.add('network.plain_http', node);
            }
        } else if (SOCKETS.test(name)) {
            this.add('network.socket', node, name);
        } else if (REMOVING.test(name)) {
            this.lookAtPlace(node, name);
        } else if (name === 'process.kill') {
            this.add('process.signal', node, name);
        } else if (['Array', 'Buffer.alloc', 'Buffer.allocUnsafe', 'ArrayBuffer', 'Uint8Array'].includes(name) ||
                   name.endsWith('.repeat') || node.callee.property?.name === 'repeat') {
            this.lookAtSize(node, first);
        }
    }

    lookAtEvaluated(node) {
        if (node.arguments.some((one) => this.hides(one))) {
            this.add('code.obfuscated', node);
        }
        const text = this.fold(node.arguments.at(-1));
        if (text === undefined || text.length < 4) {
            return;
        }
        try {
            const inner = new Scan(parseText(text), '');
            inner.run().forEach(([rule, , subject]) => this.add(rule, node, subject));
        } catch {
            // It is no program.
        }
    }

    hides(node, depth = 0) {
        let hidden = false;
        walk(node, (part) => {
            if (part.type === 'CallExpression') {
                const name = this.dotted(part.callee);
                const method = part.callee.property?.name;
                hidden ||= ['atob', 'unescape', 'decodeURIComponent', 'Buffer.from', 'String.fromCharCode'].includes(name) ||
                           method === 'reverse' || method === 'fromCharCode';
            } else if (part.type === 'Identifier' && depth < 3 && this.values.get(part.name)) {
                hidden ||= this.hides(this.values.get(part.name), depth + 1);
            }
        });
        return hidden;
    }

    lookAtLoading(node, name, source) {
        this.add('code.dynamic_import', node, name);
        const text = this.fold(source);
        if (text !== undefined && source.type !== 'TemplateLiteral' && DANGEROUS_WORDS.has(plainModule(text))) {
            this.add('code.obfuscated', node);
        }
    }

    lookAtPlace(node, name) {
        const place = this.fold(node.arguments[0]);
        const own = place !== undefined && /^\/(tmp|workspace|data|dev\/shm)\//.test(place);
        if (place !== undefined && !own && (/^[/~]/.test(place) || ['.', '..', '*'].includes(place))) {
            this.add('files.destructive', node, name);
        }
    }

    lookAtSize(node, size) {
        const number = size?.type === 'BinaryExpression' && size.operator === '**'
            ? (size.left.value ?? 0) ** (size.right.value ?? 0) : size?.value;
        if (typeof number === 'number' && number >= 1e9) {
            this.add('resource.memory', node);
        }
    }

    lookAtLoop(node) {
        const endless = !node.test || (node.test.type === 'Literal' && node.test.value);
        if (!endless || leaves(node.body)) {
            return;
        }
        let [spawns, grows] = [false, false];
        walk(node.body, (part) => {
            if (part.type === 'CallExpression') {
                spawns ||= SPAWNING.test(this.dotted(part.callee) ?? '');
                grows ||= ['push', 'unshift', 'concat'].includes(part.callee.property?.name);
            }
        });
        this.add(spawns ? 'resource.fork_bomb' : grows ? 'resource.memory' : 'resource.endless_loop', node);
    }

    lookAtAssignment(target, value) {
        const name = target?.name ?? target?.value ?? target?.property?.name;
        if (typeof name === 'string' && value?.type === 'Literal' && typeof value.value === 'string' &&
            looksSecret(name, value.value)) {
            this.add('secret.in_code', value, 'a password or key');
        }
    }

    lookAtText(node, runs) {
        const isText = (node.type === 'Literal' && typeof node.value === 'string') || node.type === 'TemplateElement' ||
                       node.type === 'BinaryExpression' || (node.type === 'CallExpression' && node.callee.type !== 'Identifier');
        const text = isText ? this.fold(node) : undefined;
        if (text === undefined || text.length < 4) {
            return;
        }
        const secret = SECRETS.find(([, pattern]) => pattern.test(text));
        if (secret) {
            this.add('secret.in_code', node, secret[0]);
        }
        for (const [rule, pattern] of [['files.secrets', SECRET_PATHS], ['sandbox.escape', ESCAPE_PATHS]]) {
            const found = pattern.exec(text);
            if (found) {
                this.add(rule, node, found[0].replace(/^\/|\/$/g, ''));
            }
        }
        for (const [rule, pattern] of [['network.metadata', METADATA], ['network.mining', MINING],
                                       ['network.reverse_shell', REVERSE_SHELL], ['files.traversal', TRAVERSAL]]) {
            if (pattern.test(text)) {
                this.add(rule, node);
            }
        }
        if (runs && SHELL.test(text)) {
            this.add(/:\(\)/.test(text) ? 'resource.fork_bomb' : 'process.shell', node);
        }
    }

    lookAtSource() {
        for (const [rule, pattern] of [['text.prompt_injection', INJECTION], ['code.hidden_text', HIDDEN]]) {
            let rest = RULE_LIMIT;
            for (const found of this.source.matchAll(pattern)) {
                this.add(rule, this.source.slice(0, found.index).split('\n').length);
                if (--rest === 0) {
                    break;
                }
            }
        }
        const names = new Set(this.nodes.filter((node) => node.type === 'Identifier' && CONFUSING_NAME.test(node.name))
            .map((node) => node.name));
        const signs = this.source.replace(/[^[\]()!+]/g, '').length;
        if (names.size >= 5 || (this.source.length > 200 && signs > this.source.length * 0.8)) {
            this.add('code.obfuscated', 0);
        }
    }
}

// Whatever goes wrong here, nobody knows then what is in the program.
function findIn(tree, source, locate) {
    try {
        return new Scan(tree, source, locate).run();
    } catch {
        return [['code.unreadable', 0, '']];
    }
}

// Each once, and of each rule no more than can be said.
function described(findings) {
    const told = new Map();
    const counts = new Map();
    for (const [rule, line, subject] of findings) {
        const key = JSON.stringify([rule, line, subject]);
        const count = counts.get(rule) ?? 0;
        if (!told.has(key) && count < RULE_LIMIT) {
            told.set(key, { rule, line, subject });
            counts.set(rule, count + 1);
        }
    }
    return [...told.values()];
}

// Whether a loop can be left from inside.
function leaves(body) {
    let left = false;
    const waiting = [body];
    while (waiting.length > 0) {
        const node = waiting.pop();
        left ||= ['BreakStatement', 'ReturnStatement', 'ThrowStatement', 'YieldExpression', 'AwaitExpression'].includes(node.type) ||
                 (node.type === 'CallExpression' && node.callee.property?.name === 'exit');
        if (!/Function/.test(node.type)) {
            waiting.push(...Object.values(node).flat().filter(isNode));
        }
    }
    return left;
}

function isNode(value) {
    return typeof value === 'object' && value !== null && typeof value.type === 'string';
}

function walk(tree, visit) {
    const waiting = [tree];
    while (waiting.length > 0) {
        const node = waiting.pop();
        visit(node);
        for (const value of Object.values(node).reverse()) {
            if (Array.isArray(value)) {
                for (let at = value.length - 1; at >= 0; --at) {
                    if (isNode(value[at])) {
                        waiting.push(value[at]);
                    }
                }
            } else if (isNode(value)) {
                waiting.push(value);
            }
        }
    }
}
