import { aPlacedVisualization } from './showing.ts';
import { tool, toolAnswered } from './tables.ts';
import { type AccessPath, resourceArnOf } from './way.ts';

/** Dashboards and what stands on them, through the tools of agents. */
export const MCP_WAYS: AccessPath[] = [
  {
    thing: 'dashboard',
    way: 'run by an agent',
    routes: ['POST /mcp'],
    needs: ['dashboards:get'],
    denied: ['dashboards:get'],
    async make(company) {
      const { dashboard } = await aPlacedVisualization(company);
      const ask = tool('run_dashboard', { dashboard_id: dashboard._id });
      return { arn: resourceArnOf(company, 'dashboard', dashboard._id), ask };
    },
    reached: toolAnswered,
  },
  {
    thing: 'visualization',
    way: 'on a dashboard that an agent runs',
    routes: ['POST /mcp'],
    besides: ['dashboards:get'],
    denied: ['visualizations:get', 'visualizations:execute'],
    async make(company) {
      const { dashboard, visualization } = await aPlacedVisualization(company);
      const ask = tool('run_dashboard', { dashboard_id: dashboard._id });
      return { arn: resourceArnOf(company, 'visualization', visualization._id), ask };
    },
    reached: (answer) =>
      toolAnswered(answer) && answer.body.result.structuredContent.data.results[0].rows !== undefined,
  },
];
