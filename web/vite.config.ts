import { defineConfig } from "vite";

// `npm run dev` shows the page with changes as they are made, on a server that runs elsewhere.
const server = process.env.BELLJAR_URL ?? "http://127.0.0.1:8080";
const paths = ["/v1", "/metrics", "/openapi.json", "/docs", "/files", "/mcp", "/health"];

export default defineConfig({
  base: "/",
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  build: {
    target: "es2022",
    outDir: process.env.BELLJAR_WEB_OUT ?? "dist",
    emptyOutDir: true,
    assetsInlineLimit: 0, // nothing inline: the policy of the page forbids it
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
  },
  server: {
    proxy: Object.fromEntries(paths.map((path) => [path, { target: server, changeOrigin: true }])),
  },
});
