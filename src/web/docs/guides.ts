import access from '../../../docs/guides/access.md';
import authentication from '../../../docs/guides/authentication.md';
import errors from '../../../docs/guides/errors.md';
import idempotency from '../../../docs/guides/idempotency.md';
import limits from '../../../docs/guides/limits.md';
import paging from '../../../docs/guides/paging.md';
import versions from '../../../docs/guides/versions.md';
import signing from '../../../examples/signing/README.md';

/** The guides for all operations: texts of the repository, as HTML. */
export const GUIDES: { id: string; title: string; html: string }[] = [
  { id: 'authentication', title: 'Authentication', html: authentication },
  { id: 'signing', title: 'Signing requests', html: signing },
  { id: 'access', title: 'Access', html: access },
  { id: 'paging', title: 'Paging', html: paging },
  { id: 'errors', title: 'Errors', html: errors },
  { id: 'limits', title: 'Limits', html: limits },
  { id: 'idempotency', title: 'Idempotency', html: idempotency },
  { id: 'versions', title: 'Versions', html: versions },
];
