import { type AccessPath, VIEWING_ACTIONS } from './access-path.ts';
import { makeDashboardPath } from './results.ts';
import { hasToolAnswered, makeToolCall } from './tables.ts';

/** Access paths to dashboards and their visualizations through MCP tools. */
export const MCP_PATHS: AccessPath[] = [
  makeDashboardPath({
    resourceTitle: 'dashboard',
    description: 'run by an agent',
    routes: ['POST /mcp'],
    neededActions: ['dashboards:get'],
    closingActions: ['dashboards:get'],
    ask: ({ dashboard }) => makeToolCall('run_dashboard', { dashboard_id: dashboard._id }),
    isReachedBy: hasToolAnswered,
  }),
  makeDashboardPath({
    description: 'on a dashboard that an agent runs',
    routes: ['POST /mcp'],
    extraActions: ['dashboards:get'],
    closingActions: VIEWING_ACTIONS,
    ask: ({ dashboard }) => makeToolCall('run_dashboard', { dashboard_id: dashboard._id }),
    isReachedBy: (answer) =>
      hasToolAnswered(answer) && answer.body.result.structuredContent.data.results[0].rows !== undefined,
  }),
];
