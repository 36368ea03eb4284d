export { consoleLink } from './links.ts';
export { mailNotice, prepareNotices, prepareNoticesToAdministrators } from './notices.ts';
export * from './requests.ts';
export * from './texts.ts';
