import type { ParameterKind } from '../sql-templates/parameters.ts';
import type { Branding } from './branding.ts';

// The JSON that viewer pages get: a dashboard or visualization, and the results of executing it.

/** A filter that the viewer may use. */
export interface ViewFilter {
  slug: string;
  label: string;
  kind: ParameterKind;
  /** The default in the form in which a caller sends a value; null for none. */
  default: unknown;
  required: boolean;
}

/** The chart that draws the columns of a result. */
export interface ViewChart {
  visualization_id: string;
  name: string;
  description: string;
  chart: {
    type: 'table' | 'line' | 'bar' | 'area' | 'pie' | 'number' | 'scatter';
    /** The names of columns; a name that is null or empty is chosen from the result. */
    x: string | null;
    y: string[];
    series: string | null;
    options: Record<string, unknown>;
  };
}

/** The place of a visualization, in cells of a grid of at least 12 columns. */
export interface ViewPlace {
  visualization_id: string;
  x: number;
  y: number;
  w: number;
  h: number;
}

/** A dashboard, or a single visualization, whose layout has one place. */
export interface SharedItemView {
  id: string;
  name: string;
  slug: string;
  description: string;
  layout: ViewPlace[];
  filters: ViewFilter[];
  charts: ViewChart[];
}

export interface EmbedOptions {
  allowed_origins?: string[];
  hide_header?: boolean;
  hide_controls?: boolean;
  allow_downloads?: boolean;
}

/** The brand of a page. */
export interface ViewBranding extends Branding {
  logo_url?: string;
}

/** The response of `resolve`, and of the embed info, to a token. */
export type TokenView =
  | { requires_auth: true; company_slug: string }
  | {
      requires_auth: false;
      branding: ViewBranding;
      dashboard?: SharedItemView;
      visualization?: SharedItemView;
      embed_options?: EmbedOptions | null;
      expires_at: string | null;
    };

export type ViewCell = string | number | boolean | null;

export interface ViewColumn {
  name: string;
  type: 'text' | 'integer' | 'decimal' | 'boolean' | 'date' | 'datetime';
}

/** The result of one visualization: columns and rows, or the reason why there are none. */
export interface ViewResult {
  visualization_id: string;
  columns?: ViewColumn[];
  rows?: ViewCell[][];
  row_count?: number;
  /** Whether the query had more rows than the limit. */
  truncated?: boolean;
  error?: { error_code: string; message: string };
}

/** The response to an execution of a dashboard, or of a single visualization. */
export type ViewResponse = ({ results: ViewResult[] } | { result: ViewResult }) & {
  /** The time when the results were computed, where it was before the request. */
  as_of?: string;
  /** Set for older results, while the database is waking; new ones will be available in a moment. */
  waking?: true;
};

/** The options of a filter of kind select or multi_select. */
export interface ViewOptions {
  filter_slug: string;
  options: { label: string; value: string }[];
  /** The origin of the options: the filter itself, its SQL, or the values that policies allow. */
  source: 'static' | 'dynamic' | 'policy';
}

/** The origins that may show a page in a frame: any, or those of a list. With an empty list no origin may. */
export type FrameAncestors = 'anywhere' | readonly string[];
