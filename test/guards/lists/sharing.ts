import { guardsOf } from '../guard.ts';

const RACES = ['test/shares/races.test.ts'];
const AT_THE_SAME_MOMENT = { tests: ['test/viewing/denied.sharing.test.ts'], title: 'moment' };
const CHANGING = 'test/viewing/changing.sharing.test.ts';
const FROM_THAT_MOMENT = { tests: [CHANGING], title: 'during a change' };
const REVOCATIONS = ['test/embeds/revocation.sharing.test.ts'];
const HOSTS = ['test/embeds/host-tokens.sharing.test.ts'];
const FRESH = ['test/viewing/fresh.sharing.test.ts'];
const OUTSIDERS = ['test/share-auth/share-auth.sharing.test.ts'];

export const SHARING = [
  ...guardsOf('src/modules/dashboards/store.ts', RACES, [
    { in: 'insertDashboard', text: 'widgetsExist(record)', without: 'sql`true`' },
    { in: 'insertDashboard', text: 'slugOrSuffixed(dashboards, record)', without: 'record.slug' },
    {
      in: 'dashboardsUnchanged',
      text: " and dashboards.version = seen.value ->> 'version'",
      without: '',
      ...AT_THE_SAME_MOMENT,
    },
    { in: 'updateDashboard', text: 'eq(dashboards.version, version), ', without: '' },
    { in: 'updateDashboard', text: 'widgetsExist(record), ', without: '' },
    { in: 'updateDashboard', text: ', whileUnseen', without: '', ...FROM_THAT_MOMENT },
  ]),
  ...guardsOf(
    'src/modules/visualizations/queries.ts',
    [CHANGING],
    [
      {
        in: 'isSeenByOthers',
        text: '${ofCompany} or ${isDashboardSeen',
        without: 'false or ${isDashboardSeen',
        title: 'key to sign',
      },
      { in: 'isSeenByOthers', text: '${ofCompany} or ${isPublished}', without: '${isPublished}', title: 'key to sign' },
      { in: 'isSeenByOthers', text: '${isPublished} or ', without: '', ...FROM_THAT_MOMENT },
      {
        in: 'isSeenByOthers',
        text: '${isShownAlone(companyId, type, sql`(${id})`, now)} or ',
        without: '',
        title: 'of its own',
      },
      {
        in: 'isSeenByOthers',
        text: ' or ${isDashboardSeen(companyId, around, now)}',
        without: '',
        ...FROM_THAT_MOMENT,
      },
      { in: 'isDashboardSeen', text: 'and revoked_at is null', without: 'and false', ...FROM_THAT_MOMENT },
      {
        in: 'isDashboardSeen',
        text: "or ${isShownAlone(companyId, 'dashboard', ids, now)}",
        without: '',
        ...FROM_THAT_MOMENT,
      },
      {
        in: 'isShownAlone',
        text: 'exists (select 1 from ${shareGrants} where',
        without: 'exists (select 1 from ${shareGrants} where false and',
        ...FROM_THAT_MOMENT,
      },
      {
        in: 'isShownAlone',
        text: 'or exists (select 1 from ${schedules} where',
        without: 'or exists (select 1 from ${schedules} where false and',
        ...FROM_THAT_MOMENT,
      },
      { in: 'isShownAlone', text: 'embedded.embedded_until >', without: 'false and 0 <', ...FROM_THAT_MOMENT },
      { in: 'recordEmbedding', text: ', eq(table.version, version)', without: '', ...AT_THE_SAME_MOMENT },
      {
        in: 'recordEmbedding',
        text: 'max(coalesce(${table.embeddedUntil}, 0), ${until})',
        without: '${until}',
        tests: RACES,
      },
    ],
  ),
  ...guardsOf('src/modules/visualizations/store.ts', RACES, [
    { in: 'insertVisualization', text: 'slugOrSuffixed(visualizations, record)', without: 'record.slug' },
    { in: 'updateVisualization', text: 'eq(visualizations.version, version),', without: '' },
    {
      in: 'updateVisualization',
      text: "unseen === undefined ? undefined : not(isSeenByOthers(companyId, { type: 'visualization', id }, unseen)),",
      without: '',
      ...FROM_THAT_MOMENT,
    },
  ]),
  ...guardsOf('src/modules/share-contexts/store.ts', RACES, [
    { in: 'insertContext', text: 'dashboardsUnchanged(record.companyId, dashboards)', without: 'sql`true`' },
    { in: 'insertContext', text: 'slugOrSuffixed(shareContexts, record)', without: 'record.slug' },
    { in: 'isVersion', text: ', eq(shareContexts.version, version)', without: '' },
    { in: 'updateContext', text: 'eq(shareContexts.version, version),', without: '' },
    { in: 'updateContext', text: 'dashboardsUnchanged(companyId, dashboards),', without: '' },
    { in: 'replaceGrants', text: ', current)', without: ')' },
    { in: 'replaceGrants', text: ' where ${current}', without: '' },
    { in: 'replaceGrants', text: 'isVersion(context), ', without: '' },
    { in: 'contextDeletion', text: ', eq(shareContexts.version, version)', without: '' },
    {
      in: 'contextDeletion',
      text: 'eq(shareGrants.companyId, companyId), gone',
      without: 'eq(shareGrants.companyId, companyId)',
    },
    {
      in: 'contextDeletion',
      text: 'eq(shareMembers.companyId, companyId), gone',
      without: 'eq(shareMembers.companyId, companyId)',
    },
    { in: 'contextDeletion', text: '          gone,', without: '' },
    { in: 'contextDeletion', text: 'isNull(dashboardShares.revokedAt),', without: '' },
    { in: 'insertMember', text: 'isVersion(context),', without: '' },
    { in: 'insertMember', text: '< ${most}', without: '>= 0' },
    {
      in: 'insertMember',
      text: 'dashboardsUnchanged(context.companyId, dashboards),',
      without: '',
      ...AT_THE_SAME_MOMENT,
    },
  ]),
  ...guardsOf('src/modules/share-contexts/service.ts', RACES, [
    { in: 'deleteContext', text: '{ shareContextId: id }, afterChange', without: '{ shareContextId: id }' },
  ]),
  ...guardsOf(
    'src/modules/share-activity/store.ts',
    ['test/share-activity/share-activity.sharing.test.ts'],
    [
      { in: 'insertShareMessages', text: 'isNull(dashboardShares.revokedAt),', without: '', title: 'each once' },
      {
        in: 'insertShareMessages',
        text: 'exists(dashboards, byId(dashboards, companyId, sql`${dashboardShares.dashboardId}`)),',
        without: '',
        title: 'each once',
      },
    ],
  ),
  ...guardsOf('src/modules/embeds/store.ts', REVOCATIONS, [
    {
      in: 'upsertRevocation',
      text: 'max(${embedRevocations.revokedAt}, excluded.revoked_at)',
      without: 'excluded.revoked_at',
    },
    { in: 'upsertRevocation', text: '< ${most}', without: '>= 0' },
    { in: 'upsertRevocation', text: '${known} or ', without: '' },
    { in: 'deleteTargetRevocations', text: 'lte(embedRevocations.revokedAt, until),', without: '' },
    { in: 'deleteTargetRevocations', text: 'gte(embedRevocations.subject, from),', without: '' },
    { in: 'deleteTargetRevocations', text: ' lt(embedRevocations.subject, to),', without: '' },
    { in: 'deleteRevocationsBefore', text: 'lt(embedRevocations.revokedAt, time)', without: 'sql`true`' },
  ]),
  ...guardsOf('src/modules/shares/store.ts', RACES, [
    {
      in: 'insertShare',
      text: 'dashboardsUnchanged(record.companyId, [{ id: record.dashboardId, version }]),',
      without: 'sql`true`,',
      ...AT_THE_SAME_MOMENT,
    },
    { in: 'insertShare', text: 'contextExists(record.companyId, record.shareContextId)', without: 'undefined' },
    { in: 'updateShare', text: 'isNull(dashboardShares.revokedAt),', without: '' },
    {
      in: 'updateShare',
      text: 'eq(dashboardShares.embedOptions, before.embedOptions)',
      without: 'undefined',
    },
    { in: 'updateShare', text: 'contextExists(before.companyId, set.shareContextId)', without: 'undefined' },
    {
      in: 'updateShare',
      text: 'dashboardsUnchanged(before.companyId, dashboards),',
      without: '',
      ...AT_THE_SAME_MOMENT,
    },
    { in: 'updateToRevoked', text: ', isNull(dashboardShares.revokedAt)', without: '' },
  ]),
  ...guardsOf('src/modules/viewing/cached-answer.ts', FRESH, [
    { in: 'cachedAnswer', text: "/${isChanging ? 'changing' : versions.version}", without: '', title: 'in between' },
    {
      in: 'cachedAnswer',
      text: 'versions?.readVersions(tables)',
      without: 'versions && { tables, version: versions.version }',
      title: 'while a change is made',
    },
  ]),
  ...guardsOf('src/modules/viewing/execution.ts', FRESH, [
    { in: 'answerExecution', text: 'if (isChanging) begin();', without: '', title: 'under way' },
  ]),
  ...guardsOf('src/modules/embeds/signing-key-store.ts', HOSTS, [
    { in: 'insertSigningKey', text: '< ${most}', without: '>= 0' },
  ]),
  ...guardsOf('drizzle/0020_end-embed-tokens.sql', REVOCATIONS, [
    { text: 'PRIMARY KEY(`company_id`, `subject`)', without: 'CHECK(true)' },
  ]),
  ...guardsOf('drizzle/0007_visualizations.sql', RACES, [
    { text: 'UNIQUE INDEX `dashboards_slug`', without: 'INDEX `dashboards_slug`' },
    { text: 'UNIQUE INDEX `visualizations_slug`', without: 'INDEX `visualizations_slug`' },
    {
      text: ',\n\tFOREIGN KEY (`visualization_id`) REFERENCES `visualizations`(`id`) ON UPDATE no action ON DELETE no action',
      without: '',
    },
  ]),
  ...guardsOf('drizzle/0010_sharing.sql', RACES, [
    { text: 'UNIQUE INDEX `outsiders_email`', without: 'INDEX `outsiders_email`', tests: OUTSIDERS },
    { text: 'UNIQUE INDEX `share_contexts_slug`', without: 'INDEX `share_contexts_slug`' },
    { text: 'UNIQUE INDEX `share_members_once`', without: 'INDEX `share_members_once`' },
  ]),
];
