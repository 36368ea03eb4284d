import { type AccessPath, makeResourceArn } from './access-path.ts';
import { createVisualizationOnDashboard } from './results.ts';
import { hasToolAnswered, makeToolCall } from './tables.ts';

/** Access paths to dashboards and their visualizations through MCP tools. */
export const MCP_PATHS: AccessPath[] = [
  {
    resourceTitle: 'dashboard',
    description: 'run by an agent',
    routes: ['POST /mcp'],
    neededActions: ['dashboards:get'],
    closingActions: ['dashboards:get'],
    async createTarget(company) {
      const { dashboard } = await createVisualizationOnDashboard(company);
      const runDashboard = makeToolCall('run_dashboard', { dashboard_id: dashboard._id });
      return { arn: makeResourceArn(company, 'dashboard', dashboard._id), ask: runDashboard };
    },
    isReachedBy: hasToolAnswered,
  },
  {
    resourceTitle: 'visualization',
    description: 'on a dashboard that an agent runs',
    routes: ['POST /mcp'],
    extraActions: ['dashboards:get'],
    closingActions: ['visualizations:get', 'visualizations:execute'],
    async createTarget(company) {
      const { dashboard, visualization } = await createVisualizationOnDashboard(company);
      const runDashboard = makeToolCall('run_dashboard', { dashboard_id: dashboard._id });
      return { arn: makeResourceArn(company, 'visualization', visualization._id), ask: runDashboard };
    },
    isReachedBy: (answer) =>
      hasToolAnswered(answer) && answer.body.result.structuredContent.data.results[0].rows !== undefined,
  },
];
