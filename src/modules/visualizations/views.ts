import { z } from 'zod';
import type { Visualization } from './store.ts';

/** The data for drawing the result of a visualization, for callers who are shown the visualization. */
export const chartView = z.object({
  visualization_id: z.string(),
  name: z.string(),
  description: z.string(),
  chart: z.unknown(),
});

export const viewChart = ({
  id,
  name,
  description,
  chart,
}: Pick<Visualization, 'id' | 'name' | 'description' | 'chart'>): z.input<typeof chartView> => ({
  visualization_id: id,
  name,
  description,
  chart,
});
