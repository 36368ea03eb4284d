import { createTable, makeColumn } from '../../managed-tables/support.ts';
import { createProvisionedCompany } from '../../support/companies.ts';
import { walkRoutes } from '../walk.ts';

walkRoutes(
  ['Model Context Protocol'],
  'mcp',
  async () => {
    const company = await createProvisionedCompany({ slug: 'acme' });
    await createTable(company.as, 'orders', [makeColumn('total', 'decimal'), makeColumn('city')]);
    return { company };
  },
  [
    {
      route: 'POST /mcp',
      json: () => ({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'list_tables', arguments: { search: 'orders' } },
      }),
    },
  ],
);
