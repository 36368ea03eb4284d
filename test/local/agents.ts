import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Demo } from '../../local/demo.ts';
import type { DemoDashboard } from '../../local/demo-dashboard.ts';

const INSPECTOR = join(import.meta.dirname, '../../node_modules/@modelcontextprotocol/inspector-cli/build');

type Facts = Demo & DemoDashboard;

const credentialOf = ({ service_account: { access_key, secret_key } }: Facts) => `Bearer ${access_key}:${secret_key}`;

/** What the tools of a running system tell the SDK's client: their names, and rows of the demo's table. */
export async function askAsAgent(facts: Facts) {
  const transport = new StreamableHTTPClientTransport(new URL(`${facts.base_url}/mcp`), {
    requestInit: { headers: { Authorization: credentialOf(facts) } },
  });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport as never);
  try {
    const { tools } = await client.listTools();
    const call = async (name: string, sent: Record<string, unknown>) =>
      (await client.callTool({ name, arguments: sent })).structuredContent as { cut: boolean; data: never };
    return {
      names: tools.map(({ name }) => name),
      version: transport.protocolVersion,
      rows: await call('query_rows', { table_id: facts.table_id, per_page: 3 }),
      dashboard: await call('run_dashboard', { dashboard_id: facts.dashboard_id }),
    };
  } finally {
    await client.close();
  }
}

/** What the Inspector's command line writes. */
export async function inspect(facts: Facts, ...options: string[]): Promise<unknown> {
  const server = [`${facts.base_url}/mcp`, '--transport', 'http'];
  const header = ['--header', `Authorization: ${credentialOf(facts)}`];
  const command = [join(INSPECTOR, 'index.js'), ...server, ...options, ...header];
  // It looks for its own package from the folder that it runs in.
  const { stdout } = await promisify(execFile)(process.execPath, command, { cwd: INSPECTOR });
  return JSON.parse(stdout);
}
