// Makes one file of all that the page consists of, and the table that the program finds it by.

import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import zlib from "node:zlib";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml; charset=utf-8",
  ".png": "image/png",
};

function filesBelow(folder) {
  return fs
    .readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}

function compress(content) {
  const brotli = zlib.brotliCompressSync(content, {
    params: {
      [zlib.constants.BROTLI_PARAM_QUALITY]: 11,
      [zlib.constants.BROTLI_PARAM_SIZE_HINT]: content.length,
    },
  });
  return { brotli, gzip: zlib.gzipSync(content, { level: 9 }) };
}

// As a Content-Security-Policy names the style sheet that frame.tsx puts into frames.
function sourceOfFrameStyle() {
  const sheet = fileURLToPath(new URL("src/frame.css", import.meta.url));
  return `'sha256-${createHash("sha256").update(fs.readFileSync(sheet)).digest("base64")}'`;
}

export function pack(dist, folder) {
  const parts = [];
  let size = 0;
  const add = (bytes) => {
    parts.push(bytes);
    size += bytes.length;
    return `part(${size - bytes.length}, ${bytes.length})`;
  };
  const rows = filesBelow(dist).map((file) => {
    const content = fs.readFileSync(file);
    const type = TYPES[path.extname(file)];
    if (!type) throw new Error(`${file}: nobody said what media type this has`);
    const tag = createHash("sha256").update(content).digest("hex").slice(0, 32);
    const { brotli, gzip } = compress(content);
    return `        {"${path.basename(file)}", "${type}", "${tag}", ${add(brotli)}, ${add(gzip)}},`;
  });
  fs.writeFileSync(path.join(folder, "web_assets.bin"), Buffer.concat(parts));
  fs.writeFileSync(
    path.join(folder, "web_assets.cpp"),
    `// Made by web/pack.mjs.
#include "api/web_assets.h"

#include <array>

asm(".pushsection .rodata\\n"
    ".globl belljar_web_assets\\n"
    "belljar_web_assets: .incbin \\"@FOLDER@/web_assets.bin\\"\\n"
    ".popsection\\n");

extern "C" {
extern const char belljar_web_assets[${size}];
}

namespace belljar::api {
namespace {

std::string_view part(std::size_t offset, std::size_t size) {
    return {&belljar_web_assets[offset], size};
}

}  // namespace

std::span<const WebAsset> web_assets() {
    static const auto kAssets = std::to_array<WebAsset>({
${rows.join("\n")}
    });
    return kAssets;
}

std::string_view source_of_frame_style() { return "${sourceOfFrameStyle()}"; }

}  // namespace belljar::api
`,
  );
}
