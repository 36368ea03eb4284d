import console from '../generated/examples/console.json' with { type: 'json' };
import directory from '../generated/examples/directory.json' with { type: 'json' };
import knowledge from '../generated/examples/knowledge.json' with { type: 'json' };
import managedTables from '../generated/examples/managed-tables.json' with { type: 'json' };
import mcp from '../generated/examples/mcp.json' with { type: 'json' };
import oauth from '../generated/examples/oauth.json' with { type: 'json' };
import organization from '../generated/examples/organization.json' with { type: 'json' };
import sharing from '../generated/examples/sharing.json' with { type: 'json' };

/** Recorded request and its answer, without secrets. */
export interface Example {
  /** Parameters of the path. */
  params?: Record<string, unknown>;
  query?: Record<string, unknown>;
  /** Body that was sent as JSON. */
  body?: unknown;
  /** Answer; an empty text if it has no body. Long lists are cut. */
  answer: unknown;
}

/** Recorded examples by method and path, `GET /accounts/{id}`; `test/contract/walk` records and checks them. */
export const EXAMPLES: Readonly<Record<string, Example>> = {
  ...organization,
  ...console,
  ...managedTables,
  ...knowledge,
  ...mcp,
  ...directory,
  ...oauth,
  ...sharing,
};
