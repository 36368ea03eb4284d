import { makeGuards } from '../guard.ts';

/** Guards for bug fixes: each fix is small, easily lost in a refactoring, and covered by no other test. */
export const BUG_FIX_GUARDS = [
  ...makeGuards(
    'src/index.ts',
    ['test/operations/deployed-worker.test.ts'],
    [{ text: ', queue: consumeBatch' }, { text: ', scheduled: runScheduled' }],
  ),
  ...makeGuards(
    'src/modules/managed-database/data-changes.ts',
    ['test/viewing/cached-results.sharing.test.ts'],
    [{ text: '{ id, tables, now', without: '{ id, tables: [store.ALL_TABLES], now', title: 'for its own table' }],
  ),
  ...makeGuards(
    'src/sql-templates/template.ts',
    ['test/sql-templates/template.test.ts'],
    [{ text: '!this.#clause || this.#bracketCount > 0 || closingOffset < 0', without: 'true' }],
  ),
  ...makeGuards(
    'src/modules/schedules/cron.ts',
    ['test/schedules/cron.test.ts'],
    [{ text: "dayOfMonth.startsWith('*') || dayOfWeek.startsWith('*')", without: 'false' }],
  ),
  ...makeGuards(
    'src/modules/schedules/condition.ts',
    ['test/schedules/conditions.test.ts'],
    [
      {
        text: 'compareValues(time, expectedText)',
        without: 'compareValues(time.slice(0, 23), expectedText.slice(0, 23))',
      },
      { text: 'if (expectedText === undefined) return undefined;\n' },
    ],
  ),
  ...makeGuards(
    'src/modules/knowledge/metrics/definition.ts',
    ['test/knowledge/metrics/query.console.test.ts'],
    [{ text: '(mappedColumn.table === time.table.id || mappedColumn.table === time.table.name)', without: 'true' }],
  ),
  ...makeGuards(
    'src/modules/knowledge/suggestions/prompt-texts.ts',
    ['test/knowledge/concept-generation.test.ts'],
    [
      { text: 'sortByRelevance(concepts, about).values()', without: 'concepts.values()' },
      { text: "omittedCount: total - text.split('\\n').length", without: 'omittedCount: 0' },
    ],
  ),
  ...makeGuards(
    'src/formats/yaml/write.ts',
    ['test/formats/yaml/write.test.ts'],
    [{ text: "if (key === 'key' || ", without: 'if (true || ' }],
  ),
];
