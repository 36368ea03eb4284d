import { createPlacedVisualization } from './showing.ts';
import { callTool, hasToolAnswered } from './tables.ts';
import { type AccessPath, makeResourceArn } from './way.ts';

/** Dashboards and what stands on them, through the tools of agents. */
export const MCP_WAYS: AccessPath[] = [
  {
    thing: 'dashboard',
    way: 'run by an agent',
    routes: ['POST /mcp'],
    needs: ['dashboards:get'],
    denied: ['dashboards:get'],
    async make(company) {
      const { dashboard } = await createPlacedVisualization(company);
      const ask = callTool('run_dashboard', { dashboard_id: dashboard._id });
      return { arn: makeResourceArn(company, 'dashboard', dashboard._id), ask };
    },
    reached: hasToolAnswered,
  },
  {
    thing: 'visualization',
    way: 'on a dashboard that an agent runs',
    routes: ['POST /mcp'],
    besides: ['dashboards:get'],
    denied: ['visualizations:get', 'visualizations:execute'],
    async make(company) {
      const { dashboard, visualization } = await createPlacedVisualization(company);
      const ask = callTool('run_dashboard', { dashboard_id: dashboard._id });
      return { arn: makeResourceArn(company, 'visualization', visualization._id), ask };
    },
    reached: (answer) =>
      hasToolAnswered(answer) && answer.body.result.structuredContent.data.results[0].rows !== undefined,
  },
];
