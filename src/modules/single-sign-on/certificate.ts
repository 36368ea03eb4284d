import { X509Certificate } from 'node:crypto';

/** The pattern of exactly one certificate: the parser would ignore any after the first. */
const SINGLE_CERTIFICATE_PATTERN = /^-----BEGIN CERTIFICATE-----\s[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----$/;

const MIN_MODULUS_BITS = 2048;

/**
 * Finds the problem of a provider's certificate (PEM); null if there is none. Its dates are ignored: providers let the
 * certificates in their metadata expire, and replace them when the key changes.
 */
export function findCertificateProblem(pem: string): string | null {
  if (pem === '') return 'must not be empty';
  if (!SINGLE_CERTIFICATE_PATTERN.test(pem)) return 'must be one certificate in PEM form';
  try {
    const { publicKey } = new X509Certificate(pem);
    const bits = publicKey.asymmetricKeyDetails?.modulusLength;
    if (publicKey.asymmetricKeyType !== 'rsa') return 'must hold an RSA key';
    return bits !== undefined && bits < MIN_MODULUS_BITS
      ? `must hold a key of at least ${MIN_MODULUS_BITS} bits`
      : null;
  } catch {
    return 'must be one certificate in PEM form';
  }
}
