import { guardsOf } from '../guard.ts';

/** Guards for bug fixes: each fix is small, easily lost in a refactoring, and covered by no other test. */
export const BUG_FIX_GUARDS = [
  ...guardsOf(
    'src/index.ts',
    ['test/operations/whole-worker.test.ts'],
    [
      { text: ', queue: consume', without: '' },
      { text: ', scheduled: runScheduled', without: '' },
    ],
  ),
  ...guardsOf(
    'src/modules/managed-database/data-changes.ts',
    ['test/viewing/fresh.sharing.test.ts'],
    [{ text: '{ id, tables, now', without: '{ id, tables: [store.ALL_TABLES], now', title: 'for its own table' }],
  ),
  ...guardsOf(
    'src/sql-templates/template.ts',
    ['test/sql-templates/template.test.ts'],
    [{ text: '!this.#clause || this.#brackets > 0 || closed < 0', without: 'true' }],
  ),
  ...guardsOf(
    'src/modules/schedules/cron.ts',
    ['test/schedules/cron.test.ts'],
    [{ text: "dayOfMonth.startsWith('*') || dayOfWeek.startsWith('*')", without: 'false' }],
  ),
  ...guardsOf(
    'src/modules/schedules/condition.ts',
    ['test/schedules/conditions.test.ts'],
    [
      { text: 'compareValues(time, wanted)', without: 'compareValues(time.slice(0, 23), wanted.slice(0, 23))' },
      { text: 'if (wanted === undefined) return undefined;\n', without: '' },
    ],
  ),
  ...guardsOf(
    'src/modules/knowledge/metrics/definition.ts',
    ['test/knowledge/metrics/query.console.test.ts'],
    [{ text: ' && (mapped.table === time.table.id || mapped.table === time.table.name)', without: '' }],
  ),
  ...guardsOf(
    'src/modules/knowledge/suggestions/prompt-texts.ts',
    ['test/knowledge/concept-generation.test.ts'],
    [
      { text: 'sortByRelevance(concepts, about).values()', without: 'concepts.values()' },
      { text: "notSent: total - text.split('\\n').length", without: 'notSent: 0' },
    ],
  ),
  ...guardsOf(
    'src/formats/yaml/write.ts',
    ['test/formats/yaml/write.test.ts'],
    [{ text: "if (key === 'key' || ", without: 'if (true || ' }],
  ),
];
