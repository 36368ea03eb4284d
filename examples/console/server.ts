/** Serves the console: a page, a style, and the script that esbuild makes of `console.ts`. */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { build } from 'esbuild';

/** Serves the console; port 0 means a free one. @returns the console's address, and a function that stops the server */
export async function serveConsole(api: string, port = 0): Promise<{ url: string; close(): Promise<void> }> {
  const readSiteFile = (name: string) => readFile(join(import.meta.dirname, name), 'utf8');
  const entryPoints = [join(import.meta.dirname, 'console.ts')];
  const bundle = await build({ entryPoints, bundle: true, format: 'esm', target: 'es2022', write: false });
  const files: Record<string, [type: string, text: string]> = {
    '/': ['text/html; charset=utf-8', (await readSiteFile('page.html')).replace('{{api}}', api)],
    '/console.css': ['text/css', await readSiteFile('console.css')],
    '/console.js': ['text/javascript', bundle.outputFiles[0]?.text ?? ''],
  };
  const policy = `default-src 'none'; script-src 'self'; style-src 'self'; connect-src ${api}`;
  const server = createServer((request, response) => {
    const servedFile = files[URL.parse(request.url ?? '/', 'http://console')?.pathname ?? ''];
    if (!servedFile) return response.writeHead(404).end();
    response.writeHead(200, { 'Content-Type': servedFile[0], 'Content-Security-Policy': policy }).end(servedFile[1]);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

if (import.meta.main) {
  const { API_URL = 'http://127.0.0.1:8787', PORT = '3000' } = process.env;
  console.log((await serveConsole(API_URL, Number(PORT))).url);
}
