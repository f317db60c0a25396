// Looks at the jar from inside, before any work is accepted; its value is the version of Node.
//
// Prints nothing. Throws with a sentence if the jar is not as tight as it should be. The arguments
// name layers that this installation lacks, and says so: what only they give is not asked for.
// Without "namespaces" the jar has no tree and no /proc of its own.

const fs = require('fs');
const os = require('os');
const path = require('path');

const SYSTEM = ['usr', 'bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32', 'etc'];
const ROOT = new Set([...SYSTEM, 'dev', 'proc', 'tmp', 'workspace', 'data', 'tools', 'logs']);
const DEVICES = ['null', 'zero', 'full', 'random', 'urandom'].map((name) => `/dev/${name}`);
const WRITABLE = ['/workspace', '/tmp', '/dev/shm'];
const MOUNTS = new Set([...DEVICES, ...WRITABLE, '/', '/dev', '/proc', '/tools', '/logs',
                        ...SYSTEM.map((name) => `/${name}`)]);
// Where a program that is not kept from it might leave something.
const OUTSIDE_WORKSPACE = ['/', '/dev/shm', '/etc', '/home', '/opt', '/proc/self', '/root', '/run',
                           '/srv', '/tmp', '/usr/bin', '/usr/lib', '/usr/local', '/var', '/var/tmp'];
const CAPABILITY_SETS = ['CapInh', 'CapPrm', 'CapEff', 'CapAmb', 'CapBnd'];

const absent = new Set(process.argv.slice(2));
const isShared = absent.has('namespaces');

class JarProblem extends Error {}

function demand(condition, sentence) {
    if (!condition) {
        throw new JarProblem(`The jar does not hold: ${sentence}.`);
    }
}

function readStatus() {
    const lines = fs.readFileSync('/proc/self/status', 'utf8').split('\n');
    return Object.fromEntries(lines.map((line) => {
        const end = line.indexOf(':');
        return [line.slice(0, end), line.slice(end + 1).trim()];
    }));
}

function checkIdentity() {
    const rootAllowed = isShared && absent.has('unique_user');
    const users = [process.getuid(), process.geteuid(), process.getgid(), process.getegid(),
                   ...process.getgroups()];
    demand(rootAllowed || !users.includes(0), "the program runs as root or with root's group");
    if (isShared) {
        return; // the rest is told by /proc alone
    }
    const status = readStatus();
    for (const name of CAPABILITY_SETS) {
        const held = BigInt(`0x${status[name]}`);
        demand(held === 0n || absent.has('no_capabilities'),
               `${name} is ${held.toString(16)} and should be 0`);
    }
    demand(status.NoNewPrivs === '1', 'no_new_privs is not set');
    demand(status.Seccomp === '2' || absent.has('seccomp'), 'no seccomp filter is in force');
}

// A name has no blank or another character that is written differently here.
function checkMounts() {
    if (isShared) {
        return; // the host's mounts are seen, and other layers keep the program from them
    }
    const strangers = fs.readdirSync('/').filter((name) => !ROOT.has(name)).sort();
    demand(strangers.length === 0, `unknown names in /: ${strangers.join(', ')}`);
    const lines = fs.readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
    for (const row of lines.filter((line) => line !== '').map((line) => line.split(' '))) {
        const [source, place, options] = [row[3], row[4], row[5].split(',')];
        demand(MOUNTS.has(place), `${place} is mounted and should not be`);
        const isDevice = DEVICES.includes(place);
        const own = source === '/' || (isDevice && source.endsWith(place.slice('/dev'.length)));
        demand(own, `${place} shows ${source} of the host`);
        demand(options.includes('nosuid'), `${place} is mounted without nosuid`);
        const isReadOnly = options.includes('ro') || WRITABLE.includes(place) || isDevice;
        demand(isReadOnly || absent.has('read_only_root'), `${place} is mounted writable`);
    }
}

function isNumber(name) {
    return String(Number(name)) === name;
}

function checkProcesses() {
    if (isShared) {
        return;
    }
    const own = ['1', String(process.pid)]; // the jar's init, which need not be hidden, and this one
    const others = fs.readdirSync('/proc').filter((name) => isNumber(name) && !own.includes(name));
    demand(others.length === 0, `${others.length} processes of others are seen`);
}

function mayWrite(place) {
    // Where the tree is the host's: directories of the host, made for this program.
    const own = [process.cwd(), process.env.HOME, process.env.TMPDIR].filter(Boolean);
    const real = fs.realpathSync(place);
    return (isShared ? own : WRITABLE).filter((one) => fs.existsSync(one))
        .map((one) => fs.realpathSync(one))
        .some((one) => real === one || real.startsWith(`${one}/`));
}

function succeeds(action) {
    try {
        action();
        return true;
    } catch {
        return false;
    }
}

function canMakeFile(directory) {
    const file = path.join(directory, `belljar-self-test-${process.pid}`);
    return succeeds(() => {
        fs.closeSync(fs.openSync(file, 'wx', 0o600));
        fs.unlinkSync(file);
    });
}

function isDirectory(place) {
    return fs.statSync(place, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function checkWriting() {
    if (absent.has('read_only_root') && absent.has('landlock')) {
        return;
    }
    const inRoot = isShared ? [] : fs.readdirSync('/').map((name) => `/${name}`);
    for (const directory of new Set([...OUTSIDE_WORKSPACE, ...inRoot])) {
        if (succeeds(() => fs.statSync(directory)) && isDirectory(directory)) {
            demand(mayWrite(directory) || !canMakeFile(directory),
                   `a file could be made in ${directory}`);
        }
    }
    for (const file of ['/etc/passwd', process.execPath, '/proc/sysrq-trigger',
                        '/proc/sys/kernel/core_pattern']) {
        const opens = succeeds(() => fs.closeSync(fs.openSync(file, fs.constants.O_WRONLY)));
        demand(!opens, `${file} could be opened for writing`);
    }
}

function checkNetwork() {
    if (isShared) {
        return; // the filter refuses sockets, which the test of another language asks for
    }
    const lines = fs.readFileSync('/proc/self/net/dev', 'utf8').split('\n');
    const names = lines.filter((line) => line.includes(':')).map((line) => line.split(':')[0].trim());
    const strangers = names.filter((name) => name !== 'lo');
    demand(strangers.length === 0, `network interfaces beside lo: ${strangers.join(', ')}`);
}

// The interpreter has descriptors of its own: pipes, epoll, events. None of them leads outside.
function checkDescriptors() {
    if (isShared) {
        return;
    }
    for (const name of fs.readdirSync('/proc/self/fd')) {
        const found = succeeds(() => fs.fstatSync(Number(name))) && fs.fstatSync(Number(name));
        demand(!found || !(found.isDirectory() || found.isSocket() || found.isBlockDevice()),
               `descriptor ${name} is a directory, a socket or a disk`);
    }
    demand(!succeeds(() => fs.fstatSync(3)) || !fs.fstatSync(3).isFile(),
           'the bootstrap is still open');
}

function selfTest() {
    checkIdentity();
    checkMounts();
    checkProcesses();
    checkWriting();
    checkNetwork();
    checkDescriptors();
    return process.versions.node;
}

selfTest();
