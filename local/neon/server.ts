import { mkdir } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import type { NeonPlan } from '../../operations/deployment/neon.ts';
import { listen, sendJson } from '../servers.ts';
import { NeonAccount } from './account.ts';
import { Computes } from './computes.ts';
import { Faults, type NeonFault } from './faults.ts';
import { ManagementApi } from './management-api.ts';
import { Pooler } from './pooler/index.ts';
import { NeonProjects } from './projects.ts';
import { RoundTrips } from './round-trips.ts';
import { runSql } from './sql.ts';
import { type ResolveEndpoint, Tunnel } from './tunnel.ts';
import { type TunnelFault, TunnelFaults } from './tunnel-faults.ts';

/** Suffix of a pooler's host name. */
const POOLER_SUFFIX_PATTERN = /-pooler(?=\.)/;

export interface LocalNeonOptions {
  /** Folder with the list of projects. */
  stateDir: string;
  /** Key of a person to the management API. */
  apiKey: string;
  /** Additional key, of the organization. */
  organizationKey?: string;
  /** The organization's plan: `scale` when left out. */
  plan?: NeonPlan;
  /** Address of the PostgreSQL server of all projects, as superuser. */
  postgres: { host: string; port: number; url: string };
  /**
   * True to enable `POST /_test/faults` (a `NeonFault` or a `TunnelFault`), and with `?project_name=`:
   * `GET /_test/calls`, `GET /_test/held` (answers when a message is held), `POST /_test/release`,
   * `POST /_test/distance` with `&milliseconds=`, `GET /_test/trips` (see `RoundTrips`),
   * `GET /_test/connections`, `GET /_test/compute` (the compute's state), `POST /_test/suspend` with `&milliseconds=`
   * (see `Computes`) and `GET /_test/address` (see `directUrl`). For tests only.
   */
  testInterface?: boolean;
}

/** A running local Neon. */
export interface LocalNeon {
  /** Base URL of the management API, for `NEON_API_URL`. */
  apiUrl: string;
  /** Id of the one organization, for `NEON_ORG_ID`. */
  organization: string;
  /** WebSocket tunnel to every endpoint, for `NEON_WS_PROXY`. */
  wsProxy: string;
  /** Address to which the driver's `neon()` posts its statements. */
  sqlUrl: string;
  /** Finds the address of a project's database on the local server itself, for psql and the like. */
  directUrl(projectName: string): string | undefined;
  close(): Promise<void>;
}

/**
 * Starts a local Neon on a free port of 127.0.0.1: the management API v2, the WebSocket tunnel and the HTTP endpoint of
 * the serverless driver. Behind them is one PostgreSQL, in which every project is a database with an owner role of its
 * own.
 */
export async function startLocalNeon(options: LocalNeonOptions): Promise<LocalNeon> {
  await mkdir(options.stateDir, { recursive: true });
  const { host, port } = options.postgres;
  const projects = new NeonProjects(join(options.stateDir, 'projects.json'), options.postgres.url);
  const faults = new Faults();
  const account = new NeonAccount(options);
  const api = new ManagementApi(projects, faults, account);
  const pooler = new Pooler(options.postgres);
  const poolerAddress = { host: '127.0.0.1', port: await pooler.listen() };
  const resolveEndpoint: ResolveEndpoint = (name) => {
    const project = projects.findByHost(name.replace(POOLER_SUFFIX_PATTERN, ''));
    const isReady = project?.operations.every((operation) => Date.now() >= operation.endsAt) ?? false;
    const isPooled = POOLER_SUFFIX_PATTERN.test(name);
    const target = isPooled ? poolerAddress : { host, port };
    return project && isReady ? { ...target, isPooled, projectName: project.name } : undefined;
  };
  const tunnelFaults = new TunnelFaults();
  const trips = new RoundTrips();
  const computes = new Computes();
  const tunnel = new Tunnel(resolveEndpoint, tunnelFaults, trips, computes);

  const findDirectUrl = (projectName: string) => {
    const project = projects.list().find(({ name }) => name === projectName);
    return project && `postgresql://${project.role}:${project.password}@${host}:${port}/${project.database}`;
  };

  /** Sets or reads what tests ask for. */
  const handleControl = async (request: IncomingMessage): Promise<unknown> => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://neon');
    const projectName = searchParams.get('project_name') ?? '';
    const milliseconds = Number(searchParams.get('milliseconds'));
    switch (pathname.slice('/_test/'.length)) {
      case 'calls':
        return faults.countCalls(projectName);
      case 'connections':
        return tunnel.countOpenedConnections(projectName);
      case 'address':
        return { url: findDirectUrl(projectName) };
      case 'compute':
        return computes.getStatus(projectName);
      case 'suspend':
        return computes.suspend(projectName, milliseconds);
      case 'held':
        return tunnelFaults.waitForHeldMessage(projectName);
      case 'release':
        return tunnelFaults.releaseMessage(projectName);
      case 'trips':
        return { trips: trips.getTripCount(projectName) };
      case 'distance':
        return trips.setLatency(projectName, milliseconds);
    }
    const fault = (await json(request)) as NeonFault | TunnelFault;
    return 'effect' in fault ? tunnelFaults.setFault(fault) : faults.setFault(fault);
  };

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? '/';
    if (path.startsWith('/api/v2/')) return await api.handle(request, response);
    if (path === '/sql' && request.method === 'POST') return await runSql(request, response, resolveEndpoint, computes);
    if (options.testInterface === true && path.startsWith('/_test/'))
      return sendJson(response, 200, (await handleControl(request)) ?? {});
    sendJson(response, 404, { code: '', message: 'not found' });
  };
  const server = createServer((request, response) => {
    handle(request, response).catch((error: Error) => {
      if (!response.headersSent) sendJson(response, 500, { code: 'INTERNAL', message: error.message });
    });
  });
  server.on('upgrade', (request, socket, head) => tunnel.handleUpgrade(request, socket, head));
  const listening = await listen(server);

  return {
    apiUrl: `http://127.0.0.1:${listening}/api/v2`,
    organization: account.organization,
    wsProxy: `ws://127.0.0.1:${listening}/v2`,
    sqlUrl: `http://127.0.0.1:${listening}/sql`,
    directUrl: findDirectUrl,
    close: async () => {
      tunnel.close();
      pooler.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
