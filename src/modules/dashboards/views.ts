import { z } from 'zod';
import { isAllowed } from '../../access/requirements.ts';
import type { PrincipalContext } from '../../context.ts';
import { makeView } from '../../http/wire.ts';
import { timestampSchema } from '../../kernel/fields.ts';
import type { Visualization } from '../visualizations/service.ts';
import { chartView, viewChart } from '../visualizations/views.ts';
import { definitionFields, filter, staticOptions } from './definition.ts';
import { getOptionsSql } from './inputs.ts';
import type { Dashboard } from './service.ts';

const filterView = filter
  .extend({
    options: z
      .union([staticOptions, z.object({ sql: z.string().optional() })])
      .nullable()
      .meta({
        description:
          'The options, or the SQL that finds them. `sql` is only shown to those who may update the dashboard.',
      }),
  })
  .meta({ id: 'DashboardFilter' });

export const dashboardRecord = z
  .object({
    _id: z.string(),
    ...definitionFields,
    filters: z.array(filterView),
    name: z.string(),
    slug: z.string(),
    created_by_user_id: z.string(),
    created_at: timestampSchema,
    updated_at: timestampSchema,
  })
  .meta({ id: 'Dashboard' });

export const dashboardWithCharts = dashboardRecord
  .extend({
    charts: z.array(chartView).optional().meta({
      description:
        'With `include=charts`: what its visualizations are drawn by, in the order of the layout, without those that the caller is denied.',
    }),
  })
  .meta({ id: 'DashboardWithCharts' });

const viewDashboardRecord = makeView(dashboardRecord);

/** Returns a dashboard as the caller may see it: the SQL of options only for callers who may update it. */
export function viewDashboard(ctx: PrincipalContext, dashboard: Dashboard): z.input<typeof dashboardRecord> {
  if (isAllowed(ctx.actor, 'dashboards:update', dashboard.id)) return viewDashboardRecord(dashboard);
  const filters = dashboard.filters.map((filter) =>
    getOptionsSql(filter.options) === null ? filter : { ...filter, options: {} },
  );
  return viewDashboardRecord({ ...dashboard, filters });
}

/** Returns a dashboard with the charts of its visualizations. */
export const viewDashboardWithCharts = (
  ctx: PrincipalContext,
  { dashboard, charts }: { dashboard: Dashboard; charts: readonly Visualization[] },
): z.input<typeof dashboardWithCharts> => ({ ...viewDashboard(ctx, dashboard), charts: charts.map(viewChart) });

export const optionsView = z
  .object({
    filter_slug: z.string(),
    options: z.array(z.object({ label: z.string(), value: z.string() })).meta({
      description: 'At most 1,000; `search` finds the others.',
    }),
    source: z.enum(['static', 'dynamic', 'policy']).meta({
      description:
        '`static`: listed in the filter; `dynamic`: found by its SQL; `policy`: the values that a filter policy allows.',
    }),
  })
  .meta({ id: 'FilterOptions' });

export const optionsQuery = z.object({
  search: z
    .string()
    .max(200)
    .default('')
    .meta({ description: 'Text that the label or value must contain, ignoring case; no wildcards.' }),
});
