// Builds the web interface for the program that it becomes a part of, if it has changed since.
//
//     node web/build.mjs FOLDER      makes FOLDER/web_assets.cpp and FOLDER/web_assets.bin
//
// What was built is kept in build/web, so that every preset of the build takes the same.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { pack } from "./pack.mjs";

const WEB = path.dirname(fileURLToPath(import.meta.url));
const KEPT = path.join(WEB, "..", "build", "web");

function fail(sentence) {
  console.error(`web: ${sentence}`);
  process.exit(1);
}

function sources(folder) {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const file = path.join(folder, entry.name);
    if (entry.name === "node_modules" || entry.name === "dist") return [];
    return entry.isDirectory() ? sources(file) : [file];
  });
}

function hashOf(files) {
  const hash = createHash("sha256");
  for (const file of files.sort()) {
    hash.update(path.relative(WEB, file)).update("\0").update(fs.readFileSync(file)).update("\0");
  }
  return hash.digest("hex");
}

function run(command, args, environment, otherwise) {
  const ended = spawnSync(command, args, {
    cwd: WEB,
    encoding: "utf8",
    env: { ...process.env, ...environment },
  });
  if (ended.error || ended.status !== 0) {
    console.error(`${ended.stdout ?? ""}${ended.stderr ?? ""}${ended.error?.message ?? ""}`);
    fail(otherwise);
  }
}

function installPackages() {
  const stamp = path.join(WEB, "node_modules", "installed.stamp");
  const wanted = hashOf([path.join(WEB, "package-lock.json")]);
  if (fs.existsSync(stamp) && fs.readFileSync(stamp, "utf8") === wanted) return;
  run(
    "npm",
    ["ci", "--no-audit", "--no-fund"],
    {},
    "npm could not install the packages of web/package-lock.json; its words are above",
  );
  fs.writeFileSync(stamp, wanted);
}

function build(hash) {
  const made = path.join(KEPT, hash);
  if (fs.existsSync(made)) return made;
  installPackages();
  // Two builds at the same time do not see what the other has half done.
  fs.mkdirSync(KEPT, { recursive: true });
  const fresh = fs.mkdtempSync(path.join(KEPT, "new-"));
  const dist = path.join(fresh, "dist");
  run(
    "npm",
    ["run", "build"],
    { BELLJAR_WEB_OUT: dist },
    "the web interface could not be built; what is wrong is above",
  );
  pack(dist, fresh);
  try {
    fs.renameSync(fresh, made);
  } catch {
    fs.rmSync(fresh, { recursive: true });
  }
  return made;
}

const target = process.argv[2];
if (!target) fail("build.mjs takes the folder to write to");
const made = build(hashOf(sources(WEB)));
for (const name of fs.readdirSync(KEPT)) {
  if (name !== path.basename(made) && !name.startsWith("new-")) {
    fs.rmSync(path.join(KEPT, name), { recursive: true, force: true });
  }
}
for (const name of ["web_assets.bin", "web_assets.cpp"]) {
  const text = fs.readFileSync(path.join(made, name));
  const place = path.resolve(target, name);
  fs.writeFileSync(
    place,
    name.endsWith(".cpp") ? text.toString().replaceAll("@FOLDER@", path.resolve(target)) : text,
  );
}
