/** What a result can be read as. */
export const DATA_FORMATS = ['json', 'ndjson', 'csv'] as const;

export type DataFormat = (typeof DATA_FORMATS)[number];
