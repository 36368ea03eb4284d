import { X509Certificate } from 'node:crypto';

/** One certificate and nothing around it: what follows a first one would be passed over in silence. */
const ONE_CERTIFICATE = /^-----BEGIN CERTIFICATE-----\s[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----$/;

const SMALLEST_MODULUS = 2048;

/**
 * What is wrong with a provider's certificate (PEM), or null. Only its key counts: providers let the dates of the
 * certificates that they publish in metadata run out, and say so by replacing them.
 */
export function certificateProblem(pem: string): string | null {
  if (!ONE_CERTIFICATE.test(pem)) return 'must be one certificate in PEM form';
  try {
    const { publicKey } = new X509Certificate(pem);
    const bits = publicKey.asymmetricKeyDetails?.modulusLength;
    if (publicKey.asymmetricKeyType !== 'rsa') return 'must hold an RSA key';
    return bits !== undefined && bits < SMALLEST_MODULUS
      ? `must hold a key of at least ${SMALLEST_MODULUS} bits`
      : null;
  } catch {
    return 'must be one certificate in PEM form';
  }
}
