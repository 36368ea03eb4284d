import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import * as sdk from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Demo } from '../../local/demo.ts';
import type { DemoDashboard } from '../../local/demo-dashboard.ts';

const INSPECTOR_FOLDER = join(import.meta.dirname, '../../node_modules/@modelcontextprotocol/inspector-cli/build');

type DemoFacts = Demo & DemoDashboard;

const getCredential = ({ service_account: { access_key, secret_key } }: DemoFacts) =>
  `Bearer ${access_key}:${secret_key}`;

/** A connected client of the protocol. It checks structured content against the tool's `outputSchema`. */
interface ConnectedClient {
  version: string | undefined;
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<{ [member: string]: unknown }>;
  close(): Promise<void>;
}

type ConnectFunction = (url: string, authorization: string) => Promise<ConnectedClient>;

/** Functions that connect the official clients, by the clients' versions. */
export const OFFICIAL_CLIENTS: Record<'1.x' | '2.x', ConnectFunction> = {
  '1.x': async (url, authorization) => {
    const requestInit = { headers: { Authorization: authorization } };
    const transport = new sdk.StreamableHTTPClientTransport(new URL(url), { requestInit });
    const client = new Client1(CLIENT_INFO);
    await client.connect(transport as never);
    return connectClient(client, transport.protocolVersion);
  },
  '2.x': async (url, authorization) => {
    const requestInit = { headers: { Authorization: authorization } };
    const client = new Client(CLIENT_INFO, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
    return connectClient(client, client.getNegotiatedProtocolVersion());
  },
};

const CLIENT_INFO = { name: 'test', version: '1' };

const connectClient = (client: Client1 | Client, version: string | undefined): ConnectedClient => ({
  version,
  listTools: () => client.listTools(),
  callTool: (call) => client.callTool(call),
  close: () => client.close(),
});

/** Returns the names of the tools of a running system, and rows of the demo's table, as an official client gets them. */
export async function askAsAgent(facts: DemoFacts, clientName: keyof typeof OFFICIAL_CLIENTS) {
  const client = await OFFICIAL_CLIENTS[clientName](`${facts.base_url}/mcp`, getCredential(facts));
  try {
    const { tools } = await client.listTools();
    const callAgentTool = async (name: string, toolArguments: Record<string, unknown>) =>
      (await client.callTool({ name, arguments: toolArguments })).structuredContent as { cut: boolean; data: never };
    return {
      names: tools.map(({ name }) => name),
      version: client.version,
      rows: await callAgentTool('query_rows', { table_id: facts.table_id, per_page: 3 }),
      dashboard: await callAgentTool('run_dashboard', { dashboard_id: facts.dashboard_id }),
    };
  } finally {
    await client.close();
  }
}

/** Runs the Inspector's command line, and returns its output. */
export async function runInspector(facts: DemoFacts, ...options: string[]): Promise<unknown> {
  const server = [`${facts.base_url}/mcp`, '--transport', 'http'];
  const header = ['--header', `Authorization: ${getCredential(facts)}`];
  const command = [join(INSPECTOR_FOLDER, 'index.js'), ...server, ...options, ...header];
  // It looks for its own package from the folder that it runs in.
  const { stdout } = await promisify(execFile)(process.execPath, command, { cwd: INSPECTOR_FOLDER });
  return JSON.parse(stdout);
}
