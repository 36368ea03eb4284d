import { guardsOf } from '../guard.ts';

const RACES = ['test/data-api/races.test.ts'];

export const DATA_API = [
  ...guardsOf('src/modules/data-api/store.ts', RACES, [
    { in: 'insertEndpoint', text: 'isPublishable(record)', without: 'sql`true`' },
    { in: 'updateEndpoint', text: ', isPublishable(next)', without: '' },
    { in: 'updateEndpoint', text: ', eq(vizApiEndpoints.version, version)', without: '' },
    { in: 'isPublishable', text: ', not(namesFormat)', without: '' },
  ]),
  ...guardsOf('src/modules/visualizations/store.ts', RACES, [
    {
      in: 'updateVisualization',
      text: 'unpublished ? not(exists(vizApiEndpoints, publishes(companyId, id))) : undefined',
      without: 'undefined',
    },
  ]),
  ...guardsOf('drizzle/0017_publish-visualizations.sql', RACES, [
    { text: 'UNIQUE INDEX `viz_api_endpoints_slug`', without: 'INDEX `viz_api_endpoints_slug`' },
    {
      text: ',\n\tFOREIGN KEY (`visualization_id`) REFERENCES `visualizations`(`id`) ON UPDATE no action ON DELETE no action',
      without: '',
    },
  ]),
];
