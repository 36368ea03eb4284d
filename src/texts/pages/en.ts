import { createCountFormatter } from '../plurals.ts';

const formatCount = createCountFormatter('en');
const formatNumber = (value: number) => value.toLocaleString('en');
const formatRows = (count: number) => formatCount(count, { one: 'row', other: 'rows' });

/** The texts of the pages; the other languages have the same. */
export const texts = {
  dashboard: 'Dashboard',
  noScript: 'This page needs JavaScript.',

  loading: 'Loading …',
  wakingSince: (time: string) => `The database is waking. As of ${time}`,
  updatedNow: 'Updated just now',
  /** The text about the age of results; `relativeTime` is the age in the language's own words: "2 minutes ago". */
  updated: (relativeTime: string) => `Updated ${relativeTime}`,
  asOf: (time: string) => `As of ${time}`,
  runAgain: 'Run again',
  copyLink: 'Copy link',
  copied: 'Link copied',
  notCopied: 'The link could not be copied',
  wholeScreen: 'Whole screen',
  close: 'Close',
  retry: 'Try again',
  noRows: 'No data for these filters.',
  noData: 'No data yet. It appears here as soon as there is some.',
  showTable: 'Show as table',
  showChart: 'Show as chart',
  moreRows: (remainingCount: number) => `Show more (${formatRows(remainingCount)} left)`,
  /** The text about the rows in view, and their total; `isCut` says that there are more rows than `total`. */
  range: (from: number, to: number, total: number, isCut?: boolean) =>
    `${from === to ? '' : `${formatNumber(from)}–`}${formatNumber(to)} of ${isCut ? 'more than ' : ''}${formatNumber(total)}`,
  notPrinted: (remainingCount: number, isCut?: boolean) =>
    `${isCut ? 'At least ' : ''}${formatCount(remainingCount, { one: 'more row is not printed', other: 'more rows are not printed' })}.`,
  truncated: (shownCount: number) => `${formatRows(shownCount)}. There is more than is shown here.`,
  emptyDashboard: 'There is nothing on this dashboard yet.',
  emptyDashboardHint: 'Charts appear here once whoever shared it has added some.',

  download: 'Download',
  downloadOf: (name: string) => `Download: ${name}`,
  preparing: 'The file is being made …',
  tooLongForXlsx: 'A text is too long for a cell of XLSX. CSV takes it.',

  filters: 'Filters',
  reset: 'Reset filters',
  all: 'All',
  search: 'Search',
  searchIn: (label: string) => `Search: ${label}`,
  noOptions: 'There is nothing to choose yet. Values appear here as soon as there is data.',
  noMatches: 'Nothing found. Try another search.',
  moreOptions: 'There are more: type to search.',
  typeValue: 'Type a value and press Enter.',
  clear: 'Clear',
  rangeStart: (label: string) => `${label}, from`,
  rangeEnd: (label: string) => `${label}, to`,
  anyDate: 'Any date',
  ownDates: 'Other dates',
  presets: { 7: 'Last 7 days', 30: 'Last 30 days', 90: 'Last 90 days', month: 'This month', year: 'This year' },
  /** The placeholder of an empty field for a date. */
  dateForm: 'mm/dd/yyyy',
  presetsOf: (label: string) => `${label}, period`,
  backwards: (label: string) => `${label}: the start is after the end.`,
  noDate: (example: string) => `Type a date such as ${example}.`,
  required: (label: string) => `${label}: Choose a value to see the data.`,

  chartKinds: {
    line: 'line chart',
    bar: 'bar chart',
    area: 'area chart',
    pie: 'pie chart',
    scatter: 'scatter chart',
    number: 'number',
    table: 'table',
  },
  chartOf: (name: string, kind: string, summary: string) => `${name}: ${kind}. ${summary}`,
  pointsOf: (name: string) => `Points of ${name}: arrow keys go from one to the next.`,
  plotSummary: (names: string, hasMore: boolean, x: string, valueCount: number) =>
    `${names}${hasMore ? ' …' : ''} by ${x}, ${formatCount(valueCount, { one: 'value', other: 'values' })}`,
  scatterSummary: (pointCount: number, y: string, x: string) =>
    `${formatCount(pointCount, { one: 'point', other: 'points' })}, ${y} by ${x}`,
  seriesCut: (drawnCount: number, series: number) => `The first ${drawnCount} of ${series} series.`,
  negativeParts: (parts: string) => `A pie shows no values below 0: ${parts}`,
  noParts: 'A pie shows values above 0, and there are none; this is the data itself.',
  missingColumn: 'The chart asks for a column that the data does not have; this is the data itself.',
  other: 'Other',
  empty: '(empty)',
  yes: 'Yes',
  no: 'No',

  unavailable: 'Nothing to see here',
  renewing: 'Your access could not be renewed. Trying again …',
  broken: 'Something went wrong on our side.',
  offline: 'The server cannot be reached. Check your connection.',
  busy: 'Too many requests at the moment.',
  notFound: 'This does not exist, or you have no access to it.',
  invalidValues: (labels: string) => `Check the value of: ${labels}.`,
  /** The texts by the code of the failure. */
  failures: {
    TOKEN_INVALID: 'This link is not valid or has expired. Ask the person who sent it for a new one.',
    ORIGIN_NOT_ALLOWED: 'This page may not be shown here.',
    AUTH_REQUIRED: 'Sign in to see this.',
    FORBIDDEN: 'You have no access to this.',
    INVALID_CONTEXT_ID: 'This does not exist, or you have no access to it.',
    INVALID_CODE: 'This code is wrong, or no longer good.',
    VALIDATION_ERROR: 'A value is not of the right form.',
    SHARE_FILTER_POLICY_VIOLATION: 'These values may not be chosen here.',
    FILTER_DISABLED_BY_POLICY: 'This filter is not available.',
    DOWNLOADS_DISABLED: 'Results cannot be downloaded here.',
    DB_QUERY_ERROR: 'The data could not be read.',
    SERVICE_UNAVAILABLE: 'This is not available at the moment.',
  },

  signInTitle: 'Sign in to see this',
  signInFirst: 'This dashboard is shared with people who sign in.',
  signIn: 'Sign in',
  signOut: 'Sign out',
  sharedDashboards: 'Shared dashboards',
  allDashboards: 'All dashboards',
  noDashboards: 'No dashboards are shared with you at the moment.',
  noDashboardsHint: 'Ask whoever invited you. Dashboards appear here once they are shared with you.',
  more: 'Show more',
  sessionEnded: 'Your session has ended: sign in again.',
  codeExplained: 'Dashboards that were shared with you open with a code that we send to your e-mail address.',
  email: 'E-mail',
  sendCode: 'Send me a code',
  enterCode: 'Enter the code',
  code: 'Code',
  codeDigits: 'The code has eight digits.',
  codeSent: (email: string) => [
    'If dashboards are shared with ',
    email,
    ', a code is on its way there. It is good for ten minutes.',
  ],
  sendAnother: 'Send another code',
  anotherSent: 'Another code is on its way.',
  otherAddress: 'Use another address',
};

export type PageTexts = typeof texts;
