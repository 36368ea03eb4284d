#!/usr/bin/env bash
# Sends a signed request to the organization API with curl and openssl.
#
#   export ACCESS_KEY=sa_… SECRET_KEY=…
#   ./sign.sh GET  'https://iam.example.com/users?quantity=50'
#   ./sign.sh POST 'https://iam.example.com/groups' '{"name":"analysts"}'
#
# Write the URL as the URL standard serialises it (percent-encoded, no `..`): it is signed and sent as it stands.
# DATE and NONCE may be set; with PRINT=1 the headers are printed, one a line, and nothing is sent.
# openssl takes the secret as an argument, which other users of the same machine may see while it runs.
set -euo pipefail

method=$(printf %s "${1:?METHOD is missing}" | tr '[:lower:]' '[:upper:]') url=${2:?URL is missing} body=${3-}
: "${ACCESS_KEY:?}" "${SECRET_KEY:?}"

hex() { sed 's/^.*= *//'; } # openssl writes "SHA2-256(stdin)= …"

rest=${url#*://*/} # what follows the host's slash
[[ $rest == "$url" ]] && rest=
path=/${rest%%\?*} query=
[[ $rest == *\?* ]] && query=${rest#*\?}

date=${DATE:-$(date -u +%Y-%m-%dT%H:%M:%SZ)}
nonce=${NONCE:-$(openssl rand -hex 16)}
digest=$(printf %s "$body" | openssl dgst -sha256 | hex)
signature=$(
  printf 'HMAC-SHA256\n%s\n%s\n%s\n%s\n%s\n%s' "$method" "$path" "$query" "$date" "$nonce" "$digest" |
    openssl dgst -sha256 -hmac "$SECRET_KEY" | hex
)

headers="authorization: HMAC $ACCESS_KEY:$signature
x-date: $date
x-nonce: $nonce
x-content-sha256: $digest"

if [[ -n ${PRINT-} ]]; then
  printf '%s\n' "$headers"
  exit
fi
[[ -n $body ]] && headers+=$'\ncontent-type: application/json'
printf '%s\n' "$headers" |
  curl --silent --show-error --path-as-is --globoff --request "$method" --header @- ${body:+--data-raw "$body"} "$url"
