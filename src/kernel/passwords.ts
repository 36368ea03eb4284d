import list from './common-passwords/list.txt';

let common: Set<string> | undefined;

/**
 * Whether this is one of the 10,000 most common passwords, in any case. Such a password is the first that anyone tries, so
 * it is refused whatever its length. The list is SecLists' (its licence lies beside it), of ten million leaked passwords.
 */
export function isCommonPassword(password: string): boolean {
  common ??= new Set(list.toLowerCase().split(/\r?\n/));
  return common.has(password.toLowerCase());
}
