import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import * as sdk from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Demo } from '../../local/demo.ts';
import type { DemoDashboard } from '../../local/demo-dashboard.ts';

const INSPECTOR = join(import.meta.dirname, '../../node_modules/@modelcontextprotocol/inspector-cli/build');

type Facts = Demo & DemoDashboard;

const getCredential = ({ service_account: { access_key, secret_key } }: Facts) => `Bearer ${access_key}:${secret_key}`;

/** A client of the protocol that has connected. It holds structured content against the tool's `outputSchema`. */
interface Connected {
  version: string | undefined;
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<{ [member: string]: unknown }>;
  close(): Promise<void>;
}

type Connect = (url: string, authorization: string) => Promise<Connected>;

/** The official clients, by their versions. */
export const OFFICIAL_CLIENTS: Record<'1.x' | '2.x', Connect> = {
  '1.x': async (url, authorization) => {
    const requestInit = { headers: { Authorization: authorization } };
    const transport = new sdk.StreamableHTTPClientTransport(new URL(url), { requestInit });
    const client = new Client1(NAMED);
    await client.connect(transport as never);
    return connectClient(client, transport.protocolVersion);
  },
  '2.x': async (url, authorization) => {
    const requestInit = { headers: { Authorization: authorization } };
    const client = new Client(NAMED, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
    return connectClient(client, client.getNegotiatedProtocolVersion());
  },
};

const NAMED = { name: 'test', version: '1' };

const connectClient = (client: Client1 | Client, version: string | undefined): Connected => ({
  version,
  listTools: () => client.listTools(),
  callTool: (call) => client.callTool(call),
  close: () => client.close(),
});

/** What the tools of a running system tell an official client: their names, and rows of the demo's table. */
export async function askAsAgent(facts: Facts, of: keyof typeof OFFICIAL_CLIENTS) {
  const client = await OFFICIAL_CLIENTS[of](`${facts.base_url}/mcp`, getCredential(facts));
  try {
    const { tools } = await client.listTools();
    const call = async (name: string, sent: Record<string, unknown>) =>
      (await client.callTool({ name, arguments: sent })).structuredContent as { cut: boolean; data: never };
    return {
      names: tools.map(({ name }) => name),
      version: client.version,
      rows: await call('query_rows', { table_id: facts.table_id, per_page: 3 }),
      dashboard: await call('run_dashboard', { dashboard_id: facts.dashboard_id }),
    };
  } finally {
    await client.close();
  }
}

/** What the Inspector's command line writes. */
export async function runInspector(facts: Facts, ...options: string[]): Promise<unknown> {
  const server = [`${facts.base_url}/mcp`, '--transport', 'http'];
  const header = ['--header', `Authorization: ${getCredential(facts)}`];
  const command = [join(INSPECTOR, 'index.js'), ...server, ...options, ...header];
  // It looks for its own package from the folder that it runs in.
  const { stdout } = await promisify(execFile)(process.execPath, command, { cwd: INSPECTOR });
  return JSON.parse(stdout);
}
