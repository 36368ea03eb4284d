import { LIST_ARGUMENTS, type Tool } from '../../http/mcp/tools.ts';

/** The tools with which agents read dashboards. */
export const dashboardTools: readonly Tool[] = [
  {
    name: 'list_dashboards',
    title: 'List dashboards',
    description: 'Lists the dashboards with their filters.',
    operationId: 'listDashboards',
    argumentNames: LIST_ARGUMENTS,
  },
  {
    name: 'run_dashboard',
    title: 'Run a dashboard',
    description: 'Runs one dashboard and returns the result of each visualization on it.',
    operationId: 'executeDashboard',
    id: 'dashboard_id',
    argumentNames: ['parameters'],
  },
];
