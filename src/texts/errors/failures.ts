/** The translations of English sentences or nouns. */
export type Translations = Readonly<Record<string, readonly [portuguese: string, spanish: string]>>;

/**
 * The sentences of failures. `{name}` is a placeholder for a part that varies. Where a failure has a Portuguese sentence of its
 * own for managed tables, that sentence is used.
 */
export const FAILURE_SENTENCES: Translations = {
  // By rule.
  'There is no such {thing}.': ['Não encontrado: {thing}.', 'No se encontró: {thing}.'],
  'Another {thing} has this {field}.': [
    'Já existe: {thing} com o mesmo {field}.',
    'Ya existe: {thing} con el mismo {field}.',
  ],
  'This {thing} is already deleted.': ['Já foi excluído: {thing}.', 'Ya se eliminó: {thing}.'],
  'The same {thing} already exists.': ['Já existe: {thing}.', 'Ya existe: {thing}.'],

  // Programs that people let in.
  'A program that somebody let in may not do this: sign in yourself.': [
    'Um programa que recebeu acesso não pode fazer isto: entre você mesmo(a).',
    'Un programa al que se dio acceso no puede hacer esto: inicie sesión usted mismo.',
  ],
  'A token by OAuth may not do this: get a service token with the key.': [
    'Um token obtido por OAuth não pode fazer isto: obtenha um token de serviço com a chave.',
    'Un token obtenido por OAuth no puede hacer esto: obtenga un token de servicio con la clave.',
  ],
  'This was answered already, or has expired. Begin again in the program that asked.': [
    'Isto já foi respondido ou expirou. Comece de novo no programa que pediu acesso.',
    'Esto ya se respondió o ha caducado. Empiece de nuevo en el programa que pidió acceso.',
  ],
  'The code is wrong, has expired, or was used already.': [
    'O código está incorreto, expirou ou já foi usado.',
    'El código es incorrecto, ha caducado o ya se usó.',
  ],
  'This program was registered for people of another company.': [
    'Este programa foi registrado para pessoas de outra empresa.',
    'Este programa se registró para personas de otra empresa.',
  ],
  'There is no such client.': ['Não existe esse cliente.', 'No existe ese cliente.'],
  'There is no such grant, or it has ended.': [
    'Esse acesso não existe ou já terminou.',
    'Ese acceso no existe o ya terminó.',
  ],
  'A company can register 200 clients. Delete one first.': [
    'Uma empresa pode registrar 200 clientes. Exclua um primeiro.',
    'Una empresa puede registrar 200 clientes. Elimine uno primero.',
  ],

  // Requests.
  'Pages of this origin may not call the tools.': [
    'Páginas desta origem não podem chamar as ferramentas.',
    'Las páginas de este origen no pueden llamar a las herramientas.',
  ],
  'The request is not valid.': ['A requisição não é válida.', 'La solicitud no es válida.'],
  'The body is not valid JSON.': ['O corpo não é um JSON válido.', 'El cuerpo no es un JSON válido.'],
  'Send the body as JSON, with Content-Type: application/json.': [
    'Envie o corpo como JSON, com Content-Type: application/json.',
    'Envíe el cuerpo como JSON, con Content-Type: application/json.',
  ],
  'The body is nested too deeply.': ['O corpo tem níveis demais.', 'El cuerpo tiene demasiados niveles.'],
  'The body is nested more than {levels} levels deep.': [
    'O corpo tem mais de {levels} níveis.',
    'El cuerpo tiene más de {levels} niveles.',
  ],
  'The body holds too many values.': ['O corpo tem valores demais.', 'El cuerpo tiene demasiados valores.'],
  'The body has more than {signs} commas and opening brackets.': [
    'O corpo tem mais de {signs} vírgulas e colchetes de abertura.',
    'El cuerpo tiene más de {signs} comas y corchetes de apertura.',
  ],
  'The members of the body have too many different names.': [
    'Os campos do corpo têm nomes diferentes demais.',
    'Los campos del cuerpo tienen demasiados nombres distintos.',
  ],
  'The members of the body have more than {names} different names.': [
    'Os campos do corpo têm mais de {names} nomes diferentes.',
    'Los campos del cuerpo tienen más de {names} nombres distintos.',
  ],
  'The body is larger than this route accepts.': [
    'O corpo é maior do que esta rota aceita.',
    'El cuerpo es mayor de lo que esta ruta acepta.',
  ],
  'The body is larger than {limit} bytes.': [
    'O corpo tem mais de {limit} bytes.',
    'El cuerpo tiene más de {limit} bytes.',
  ],
  'The body ended before the form was complete.': [
    'O corpo terminou antes de o formulário estar completo.',
    'El cuerpo terminó antes de que el formulario estuviera completo.',
  ],
  'The body was cut off.': ['O corpo foi interrompido.', 'El cuerpo se interrumpió.'],
  'The form has too many parts.': ['O formulário tem partes demais.', 'El formulario tiene demasiadas partes.'],
  'The header of a part is too long.': [
    'O cabeçalho de uma parte é longo demais.',
    'El encabezado de una parte es demasiado largo.',
  ],
  'A boundary is followed by text.': [
    'Há texto depois de um separador do formulário.',
    'Hay texto después de un separador del formulario.',
  ],
  'A part does not say which field it is.': ['Uma parte não diz de que campo é.', 'Una parte no dice de qué campo es.'],
  'The form is incomplete or malformed.': [
    'O formulário está incompleto ou malformado.',
    'El formulario está incompleto o mal formado.',
  ],
  'The resource has changed since it was read: `If-Match` names another version. Nothing was changed. Read it again, then repeat the change.':
    [
      'O recurso mudou desde que foi lido: `If-Match` indica outra versão. Nada foi alterado. Leia-o novamente e repita a alteração.',
      'El recurso cambió desde que se leyó: `If-Match` indica otra versión. No se cambió nada. Léalo de nuevo y repita el cambio.',
    ],
  'This method is not available on this route.': [
    'Este método não está disponível nesta rota.',
    'Este método no está disponible en esta ruta.',
  ],
  'There is no such route.': ['Esta rota não existe.', 'Esta ruta no existe.'],
  'Too many requests.': ['Requisições demais.', 'Demasiadas solicitudes.'],
  'Too many attempts.': ['Tentativas demais.', 'Demasiados intentos.'],
  'The server cannot check at the moment whether this request was sent before. Sign it again with a new nonce and resend it.':
    [
      'No momento o servidor não consegue verificar se esta requisição já foi enviada. Assine-a de novo com outro nonce e reenvie.',
      'Por ahora el servidor no puede comprobar si esta solicitud ya se envió. Fírmela de nuevo con otro nonce y reenvíela.',
    ],
  'The server cannot check at the moment whether this request was made before. Send it again with the same key.': [
    'No momento o servidor não consegue verificar se esta requisição já foi feita. Envie-a de novo com a mesma chave.',
    'Por ahora el servidor no puede comprobar si esta solicitud ya se hizo. Envíela de nuevo con la misma clave.',
  ],
  'This idempotency key was already used for another request. Use a new key.': [
    'Esta chave de idempotência já foi usada em outra requisição. Use uma nova chave.',
    'Esta clave de idempotencia ya se usó en otra solicitud. Use una clave nueva.',
  ],
  'The first request under this idempotency key is still at work. Send the request again later.': [
    'A primeira requisição com esta chave de idempotência ainda está em andamento. Envie-a de novo mais tarde.',
    'La primera solicitud con esta clave de idempotencia sigue en curso. Envíela de nuevo más tarde.',
  ],
  'This request was already carried out. What you may do has changed since, so its answer is not shown again. Nothing was done.':
    [
      'Esta requisição já foi executada. Suas permissões mudaram desde então e a resposta não é mostrada de novo. Nada foi feito.',
      'Esta solicitud ya se ejecutó. Sus permisos han cambiado desde entonces y la respuesta no se muestra de nuevo. No se hizo nada.',
    ],
  'This request was already carried out. Its answer was not kept, usually because it was too large.': [
    'Esta requisição já foi executada. A resposta não foi guardada, em geral por ser grande demais.',
    'Esta solicitud ya se ejecutó. La respuesta no se guardó, normalmente por ser demasiado grande.',
  ],
  'Someone else is changing the same resource at the moment. Try again.': [
    'Outra pessoa está alterando o mesmo recurso agora. Tente novamente.',
    'Otra persona está cambiando el mismo recurso en este momento. Inténtelo de nuevo.',
  ],
  'Something went wrong on our side. Try again later.': [
    'Algo deu errado do nosso lado. Tente novamente mais tarde.',
    'Algo falló por nuestra parte. Inténtelo más tarde.',
  ],
  'Files cannot be stored at the moment. Nothing was stored; try again later.': [
    'Não é possível armazenar arquivos no momento. Nada foi armazenado; tente novamente mais tarde.',
    'Por ahora no se pueden almacenar archivos. No se almacenó nada; inténtelo más tarde.',
  ],
  'Too many files are being read at the moment. Try again in a few seconds.': [
    'Há arquivos demais sendo lidos no momento. Tente novamente em alguns segundos.',
    'Se están leyendo demasiados archivos en este momento. Inténtelo de nuevo en unos segundos.',
  ],

  // Access.
  'The token is missing, invalid or expired.': [
    'O token está ausente, é inválido ou expirou.',
    'El token falta, no es válido o ha caducado.',
  ],
  'The caller does not have the permission that this needs.': [
    'Você não tem a permissão necessária.',
    'No tiene el permiso necesario.',
  ],
  'This needs the permission {action}.': ['Isto requer a permissão {action}.', 'Esto requiere el permiso {action}.'],
  'Only administrators may do this.': [
    'Só administradores podem fazer isto.',
    'Solo los administradores pueden hacer esto.',
  ],
  'Only the owner of the company may do this.': [
    'Só o proprietário da empresa pode fazer isto.',
    'Solo el propietario de la empresa puede hacer esto.',
  ],
  'This is for people, with a session of their own. A service account has none.': [
    'Isto é para pessoas, com uma sessão própria. Uma conta de serviço não tem.',
    'Esto es para personas, con una sesión propia. Una cuenta de servicio no tiene.',
  ],
  'This would give more than the caller may do.': [
    'Isto daria mais do que você mesmo pode fazer.',
    'Esto daría más de lo que usted mismo puede hacer.',
  ],
  'This would allow {action} on {resource}, which you are not allowed yourself.': [
    'Isto permitiria {action} em {resource}, o que você mesmo não pode.',
    'Esto permitiría {action} en {resource}, lo que usted mismo no puede.',
  ],
  'Access cannot be changed at the moment. Nothing was changed. Try again.': [
    'As permissões não podem ser alteradas no momento. Nada foi alterado. Tente novamente.',
    'Por ahora no se puede cambiar el acceso. No se cambió nada. Inténtelo de nuevo.',
  ],
  'This needs the platform operator’s token.': [
    'Isto requer o token do operador da plataforma.',
    'Esto requiere el token del operador de la plataforma.',
  ],
  'A header of the signature is missing.': ['Falta um cabeçalho da assinatura.', 'Falta un encabezado de la firma.'],
  'The header {field} is missing.': ['Falta o cabeçalho {field}.', 'Falta el encabezado {field}.'],
  'A header of the signature is malformed.': [
    'Um cabeçalho da assinatura está malformado.',
    'Un encabezado de la firma está mal formado.',
  ],
  'Authorization must be `HMAC {access_key}:{signature}`.': [
    'Authorization deve ser `HMAC {access_key}:{signature}`.',
    'Authorization debe ser `HMAC {access_key}:{signature}`.',
  ],
  'x-date differs from the server’s clock by more than 300 seconds.': [
    'x-date difere do relógio do servidor em mais de 300 segundos.',
    'x-date difiere del reloj del servidor en más de 300 segundos.',
  ],
  'x-content-sha256 is not the digest of the body.': [
    'x-content-sha256 não é o resumo do corpo.',
    'x-content-sha256 no es el resumen del cuerpo.',
  ],
  'The access key is unknown, revoked or expired, or its service account or account is inactive.': [
    'A chave de acesso é desconhecida, foi revogada ou expirou, ou sua conta de serviço ou conta está inativa.',
    'La clave de acceso es desconocida, se revocó o caducó, o su cuenta de servicio o cuenta está inactiva.',
  ],
  'The signature does not match the request. Compare `details.string_to_sign` with the text that you signed.': [
    'A assinatura não corresponde à requisição. Compare `details.string_to_sign` com o texto que você assinou.',
    'La firma no corresponde a la solicitud. Compare `details.string_to_sign` con el texto que firmó.',
  ],
  'This nonce was used before.': ['Este nonce já foi usado.', 'Este nonce ya se usó.'],
  'A limit on policies is exceeded: the size of a document, the policies of one group, or the documents that apply to one user or service account.':
    [
      'Um limite das políticas foi ultrapassado: o tamanho de um documento, as políticas de um grupo, ou os documentos que valem para um usuário ou conta de serviço.',
      'Se superó un límite de las políticas: el tamaño de un documento, las políticas de un grupo, o los documentos que se aplican a un usuario o cuenta de servicio.',
    ],
  'At most {count} policies can be attached to a group.': [
    'No máximo {count} políticas podem ser anexadas a um grupo.',
    'Como máximo se pueden adjuntar {count} políticas a un grupo.',
  ],
  "A policy's document can have at most {size} KiB as JSON.": [
    'O documento de uma política pode ter no máximo {size} KiB como JSON.',
    'El documento de una política puede ocupar como máximo {size} KiB como JSON.',
  ],
  'The policies that apply to one user or service account can have documents of at most {size} KiB together.': [
    'Os documentos das políticas que valem para um usuário ou conta de serviço podem ter no máximo {size} KiB no total.',
    'Los documentos de las políticas que se aplican a un usuario o cuenta de servicio pueden ocupar como máximo {size} KiB en total.',
  ],

  // Accounts, users, groups, policies, keys.
  'This account is not deleted.': ['Esta conta não está excluída.', 'Esta cuenta no está eliminada.'],
  'The default account cannot be deleted. Make another account the default first.': [
    'A conta padrão não pode ser excluída. Torne outra conta a padrão primeiro.',
    'La cuenta predeterminada no se puede eliminar. Haga predeterminada otra cuenta primero.',
  ],
  'The default account is always active. Make another, active account the default first.': [
    'A conta padrão está sempre ativa. Torne outra conta ativa a padrão primeiro.',
    'La cuenta predeterminada está siempre activa. Haga predeterminada otra cuenta activa primero.',
  ],
  'Users or service accounts are still attached to this account. Remove them first.': [
    'Ainda há usuários ou contas de serviço ligados a esta conta. Remova-os primeiro.',
    'Aún hay usuarios o cuentas de servicio vinculados a esta cuenta. Quítelos primero.',
  ],
  '{users} and {serviceAccounts} are still attached to this account. Remove them first.': [
    'Ainda estão ligados a esta conta {users} e {serviceAccounts}. Remova-os primeiro.',
    'Siguen vinculados a esta cuenta {users} y {serviceAccounts}. Quítelos primero.',
  ],
  'Another user has this email address.': [
    'Outro usuário tem este endereço de e-mail.',
    'Otro usuario tiene esta dirección de correo.',
  ],
  'The owner cannot be deleted.': ['O proprietário não pode ser excluído.', 'El propietario no se puede eliminar.'],
  'The owner cannot be deactivated.': [
    'O proprietário não pode ser desativado.',
    'El propietario no se puede desactivar.',
  ],
  'You cannot deactivate yourself.': ['Você não pode desativar a si mesmo.', 'No puede desactivarse a sí mismo.'],
  'This user has not accepted the invitation yet.': [
    'Este usuário ainda não aceitou o convite.',
    'Este usuario aún no ha aceptado la invitación.',
  ],
  'A global group cannot be deleted.': [
    'Um grupo global não pode ser excluído.',
    'Un grupo global no se puede eliminar.',
  ],
  'The name, slug and description of a global group cannot be changed.': [
    'O nome, o slug e a descrição de um grupo global não podem ser alterados.',
    'El nombre, el slug y la descripción de un grupo global no se pueden cambiar.',
  ],
  'This group has no such binding.': ['Este grupo não tem este vínculo.', 'Este grupo no tiene este vínculo.'],
  'This principal is in the group within this account already.': [
    'Este participante já está no grupo nesta conta.',
    'Este participante ya está en el grupo en esta cuenta.',
  ],
  'This policy is not attached to the group.': [
    'Esta política não está anexada ao grupo.',
    'Esta política no está adjunta al grupo.',
  ],
  'This policy is attached to groups. Detach it first.': [
    'Esta política está anexada a grupos. Desanexe-a primeiro.',
    'Esta política está adjunta a grupos. Sepárela primero.',
  ],
  'This policy is attached to {groups}. Detach it first.': [
    'Esta política está anexada a {groups}. Desanexe-a primeiro.',
    'Esta política está adjunta a {groups}. Sepárela primero.',
  ],
  'A managed policy can be neither changed nor deleted. Clone it, and change the copy.': [
    'Uma política gerenciada não pode ser alterada nem excluída. Clone-a e altere a cópia.',
    'Una política administrada no se puede cambiar ni eliminar. Clónela y cambie la copia.',
  ],
  'This service account has no such key.': [
    'Esta conta de serviço não tem esta chave.',
    'Esta cuenta de servicio no tiene esta clave.',
  ],
  'This key is already revoked.': ['Esta chave já foi revogada.', 'Esta clave ya se revocó.'],
  'You can only create permissions for your own company.': [
    'Você só pode criar permissões para a sua própria empresa.',
    'Solo puede crear permisos para su propia empresa.',
  ],
  'Another organization has this slug.': ['Outra organização tem este slug.', 'Otra organización tiene este slug.'],
  'There is no company with this slug.': ['Não há empresa com este slug.', 'No hay ninguna empresa con este slug.'],
  'A logo has at most 256 KiB.': ['Um logo tem no máximo 256 KiB.', 'Un logotipo ocupa como máximo 256 KiB.'],

  // Sign-in.
  'The email or the password is wrong.': [
    'O e-mail ou a senha está errado.',
    'El correo o la contraseña no es correcto.',
  ],
  'This user may not sign in to the company.': [
    'Este usuário não pode entrar na empresa.',
    'Este usuario no puede entrar en la empresa.',
  ],
  'Your sessions were ended while you signed in. Sign in again.': [
    'Suas sessões foram encerradas enquanto você entrava. Entre novamente.',
    'Sus sesiones se cerraron mientras entraba. Entre de nuevo.',
  ],
  'The code is wrong or has expired.': ['O código está errado ou expirou.', 'El código no es correcto o ha caducado.'],
  'The code is wrong, or was used before.': [
    'O código está errado ou já foi usado.',
    'El código no es correcto o ya se usó.',
  ],
  'This would pass a quota of the organization. Nothing was done.': [
    'Isto passaria de uma cota da organização. Nada foi feito.',
    'Esto superaría una cuota de la organización. No se hizo nada.',
  ],
  'These policies hold patterns that are too complex to be compared. Use fewer wildcards.': [
    'Estas políticas têm padrões complexos demais para serem comparados. Use menos curingas.',
    'Estas políticas tienen patrones demasiado complejos para compararlos. Use menos comodines.',
  ],
  'This organization is suspended. Nothing of it is lost: ask whoever runs this platform.': [
    'Esta organização está suspensa. Nada foi perdido: fale com quem opera esta plataforma.',
    'Esta organización está suspendida. No se perdió nada: consulte a quien opera esta plataforma.',
  ],
  'This organization is being deleted.': [
    'Esta organização está sendo excluída.',
    'Esta organización se está eliminando.',
  ],
  'This organization is not being deleted.': [
    'Esta organização não está sendo excluída.',
    'Esta organización no se está eliminando.',
  ],
  'The erasure of this organization has begun: it cannot be restored any more.': [
    'A eliminação dos dados desta organização já começou: ela não pode mais ser restaurada.',
    'El borrado de los datos de esta organización ya comenzó: ya no se puede restaurar.',
  ],
  'There is no certificate: no organization of this id has been erased.': [
    'Não há certificado: nenhuma organização com este id foi eliminada.',
    'No hay certificado: ninguna organización con este id se ha borrado.',
  ],
  'Somebody of this address can still sign in. Deactivate or delete the user first.': [
    'Alguém com este endereço ainda pode entrar. Desative ou exclua o usuário antes.',
    'Alguien con esta dirección todavía puede iniciar sesión. Desactive o elimine antes al usuario.',
  ],
  'This needs a sign-in of the last ten minutes. Sign in again.': [
    'Isto requer uma entrada nos últimos dez minutos. Entre novamente.',
    'Esto requiere haber entrado en los últimos diez minutos. Entre de nuevo.',
  ],
  'Sign in with the identity provider of your company.': [
    'Entre com o provedor de identidade da sua empresa.',
    'Entre con el proveedor de identidad de su empresa.',
  ],
  'This sign-in has expired, was finished, or had too many wrong codes. Sign in again.': [
    'Esta entrada expirou, foi concluída ou teve códigos errados demais. Entre novamente.',
    'Este inicio de sesión caducó, terminó o tuvo demasiados códigos incorrectos. Entre de nuevo.',
  ],
  'The second factor is already enabled. Disable it first to set up another authenticator.': [
    'O segundo fator já está ativado. Desative-o primeiro para configurar outro autenticador.',
    'El segundo factor ya está activado. Desactívelo primero para configurar otro autenticador.',
  ],
  'The second factor is not enabled.': ['O segundo fator não está ativado.', 'El segundo factor no está activado.'],
  'There is no authenticator to enable. Set one up first.': [
    'Não há autenticador a ativar. Configure um primeiro.',
    'No hay ningún autenticador que activar. Configure uno primero.',
  ],
  'This user has neither a second factor nor a passkey.': [
    'Este usuário não tem segundo fator nem chave de acesso.',
    'Este usuario no tiene ni segundo factor ni llave de acceso.',
  ],
  'The passkey could not be verified. Ask for new options and try again.': [
    'Não foi possível verificar a chave de acesso. Peça novas opções e tente de novo.',
    'No se pudo verificar la llave de acceso. Pida opciones nuevas e inténtelo de nuevo.',
  ],
  'You have no such passkey.': ['Você não tem esta chave de acesso.', 'No tiene esta llave de acceso.'],
  'You have the maximum number of passkeys. Delete one first.': [
    'Você tem o número máximo de chaves de acesso. Exclua uma primeiro.',
    'Tiene el número máximo de llaves de acceso. Elimine una primero.',
  ],
  'You cannot reset your own second factor. Disable it, with your password or a code.': [
    'Você não pode redefinir o seu próprio segundo fator. Desative-o, com a sua senha ou um código.',
    'No puede restablecer su propio segundo factor. Desactívelo, con su contraseña o un código.',
  ],
  'Only administrators may reset the second factor of the owner.': [
    'Só administradores podem redefinir o segundo fator do proprietário.',
    'Solo los administradores pueden restablecer el segundo factor del propietario.',
  ],
  'You have no such session, or it has ended.': [
    'Você não tem esta sessão, ou ela terminou.',
    'No tiene esta sesión, o ya terminó.',
  ],
  'The link is unknown, used or expired.': [
    'O link é desconhecido, já foi usado ou expirou.',
    'El enlace es desconocido, ya se usó o caducó.',
  ],
  'The invitation is unknown, used or expired.': [
    'O convite é desconhecido, já foi usado ou expirou.',
    'La invitación es desconocida, ya se usó o caducó.',
  ],
  'The token is not a valid ID token of a provider of this company, or its email is not verified: where the provider does not say so, `trust_email` of the configuration decides.':
    [
      'O token não é um ID token válido de um provedor desta empresa, ou o e-mail não foi verificado: quando o provedor não o diz, decide `trust_email` da configuração.',
      'El token no es un ID token válido de un proveedor de esta empresa, o su correo no está verificado: si el proveedor no lo dice, decide `trust_email` de la configuración.',
    ],
  'The company has no such social provider.': [
    'A empresa não tem este provedor.',
    'La empresa no tiene este proveedor.',
  ],
  'This identity provider issues no ID tokens to pages (`response_type=id_token`): configure it for single sign-on instead.':
    [
      'Este provedor de identidade não emite ID tokens a páginas (`response_type=id_token`): configure-o para o login único.',
      'Este proveedor de identidad no emite ID tokens a páginas (`response_type=id_token`): configúrelo para el inicio de sesión único.',
    ],
  'This user signed in with another identity before. An administrator can remove that identity.': [
    'Este usuário já entrou com outra identidade. Um administrador pode remover essa identidade.',
    'Este usuario entró antes con otra identidad. Un administrador puede quitar esa identidad.',
  ],
  'The keys of the identity provider could not be read.': [
    'As chaves do provedor de identidade não puderam ser lidas.',
    'No se pudieron leer las claves del proveedor de identidad.',
  ],
  'Single sign-on is not configured for this company.': [
    'O logon único não está configurado para esta empresa.',
    'El inicio de sesión único no está configurado para esta empresa.',
  ],
  'The identity provider could not be reached, or its answer was not valid.': [
    'Não foi possível alcançar o provedor de identidade, ou a resposta dele não foi válida.',
    'No se pudo llegar al proveedor de identidad, o su respuesta no fue válida.',
  ],
  'The identity provider could not be reached.': [
    'Não foi possível alcançar o provedor de identidade.',
    'No se pudo llegar al proveedor de identidad.',
  ],
  'The identity provider’s discovery document is not valid.': [
    'O documento de descoberta do provedor de identidade não é válido.',
    'El documento de descubrimiento del proveedor de identidad no es válido.',
  ],
  'The address of the identity provider may not be called.': [
    'O endereço do provedor de identidade não pode ser chamado.',
    'No se puede llamar a la dirección del proveedor de identidad.',
  ],
  'The address {problem}.': [
    'O endereço não pode ser chamado: {problem}.',
    'No se puede llamar a la dirección: {problem}.',
  ],
  'This sign-in is unknown, finished or expired. Start again from the console.': [
    'Esta entrada é desconhecida, foi concluída ou expirou. Comece de novo pelo console.',
    'Este inicio de sesión es desconocido, terminó o caducó. Empiece de nuevo desde la consola.',
  ],
  'Send the answer as a form (application/x-www-form-urlencoded).': [
    'Envie a resposta como formulário (application/x-www-form-urlencoded).',
    'Envíe la respuesta como formulario (application/x-www-form-urlencoded).',
  ],
  'The code is unknown, used or expired. Begin the sign-in again.': [
    'O código é desconhecido, já foi usado ou expirou. Comece a entrada de novo.',
    'El código es desconocido, ya se usó o caducó. Empiece el inicio de sesión de nuevo.',
  ],

  // Databases and queries.
  "The company's database cannot be reached at the moment.": [
    'O banco de dados da empresa está inacessível no momento.',
    'Por ahora no se puede llegar a la base de datos de la empresa.',
  ],
  'The connection was lost before the database confirmed the change, which may or may not have been made. Check before trying again.':
    [
      'A conexão foi perdida antes de o banco de dados confirmar a alteração, que pode ou não ter sido feita. Verifique antes de tentar de novo.',
      'La conexión se perdió antes de que la base de datos confirmara el cambio, que puede haberse hecho o no. Compruébelo antes de intentarlo de nuevo.',
    ],
  "The company's database is full, or takes no changes at the moment. Nothing was changed.": [
    'O banco de dados da empresa está cheio ou não aceita alterações no momento. Nada foi alterado.',
    'La base de datos de la empresa está llena o no admite cambios por ahora. No se cambió nada.',
  ],
  'The database is being set up; try again in a moment.': [
    'O banco de dados está sendo preparado; tente novamente em instantes.',
    'La base de datos se está preparando; inténtelo de nuevo en un momento.',
  ],
  'The database could not be set up at the moment; try again later.': [
    'O banco de dados não pôde ser preparado agora; tente novamente mais tarde.',
    'La base de datos no se pudo preparar ahora; inténtelo más tarde.',
  ],
  'The managed database is not provisioned. Provision it first: POST /v1/managed-tables/provision.': [
    'O banco de dados gerenciado não foi provisionado. Provisione-o primeiro: POST /v1/managed-tables/provision.',
    'La base de datos administrada no está aprovisionada. Aprovisiónela primero: POST /v1/managed-tables/provision.',
  ],
  'There is no data yet.': ['Ainda não há dados.', 'Aún no hay datos.'],
  'The query failed.': ['A consulta falhou.', 'La consulta falló.'],
  'The query is not allowed.': ['A consulta não é permitida.', 'La consulta no está permitida.'],
  '{name} is not available here': ['{name} não está disponível aqui', '{name} no está disponible aquí'],
  "only the company's own tables can be read": [
    'só as tabelas da própria empresa podem ser lidas',
    'solo se pueden leer las tablas de la propia empresa',
  ],
  'The query took too long.': ['A consulta demorou demais.', 'La consulta tardó demasiado.'],
  'The result of the query is too large.': [
    'O resultado da consulta é grande demais.',
    'El resultado de la consulta es demasiado grande.',
  ],
  'The query of the visualization failed, took too long, or is not allowed.': [
    'A consulta da visualização falhou, demorou demais ou não é permitida.',
    'La consulta de la visualización falló, tardó demasiado o no está permitida.',
  ],
  'The query failed, took too long, or is not allowed.': [
    'A consulta falhou, demorou demais ou não é permitida.',
    'La consulta falló, tardó demasiado o no está permitida.',
  ],
  'A parameter has a value that does not fit.': [
    'Um parâmetro tem um valor que não serve.',
    'Un parámetro tiene un valor que no sirve.',
  ],
  'The database cannot be reached at the moment.': [
    'O banco de dados está inacessível no momento.',
    'Por ahora no se puede llegar a la base de datos.',
  ],

  // Tables and uploads: those that have no Portuguese sentence of their own are not among them.
  'Another table has this name.': ['Outra tabela tem este nome.', 'Otra tabla tiene este nombre.'],
  'Another table has the name of the deleted one. Rename that, then restore this one.': [
    'Outra tabela tem o nome da excluída. Renomeie-a e depois restaure esta.',
    'Otra tabla tiene el nombre de la eliminada. Cámbiele el nombre y luego restaure esta.',
  ],
  'The table cannot be emptied while files are loaded into it.': [
    'A tabela não pode ser esvaziada enquanto arquivos são carregados nela.',
    'La tabla no se puede vaciar mientras se cargan archivos en ella.',
  ],
  'The table cannot be changed or deleted while files are loaded into it.': [
    'A tabela não pode ser alterada nem excluída enquanto arquivos são carregados nela.',
    'La tabla no se puede cambiar ni eliminar mientras se cargan archivos en ella.',
  ],
  'The row is too large to be stored.': [
    'A linha é grande demais para ser armazenada.',
    'La fila es demasiado grande para almacenarla.',
  ],
  'The values of this row are too large for one answer. List it by its `id`, with some of its `fields`.': [
    'Os valores desta linha são grandes demais para uma resposta. Liste-a pelo `id`, com parte dos `fields`.',
    'Los valores de esta fila son demasiado grandes para una respuesta. Enumérela por su `id`, con algunos de sus `fields`.',
  ],
  'The values of this page are too large for one answer. Ask for fewer rows.': [
    'Os valores desta página são grandes demais para uma resposta. Peça menos linhas.',
    'Los valores de esta página son demasiado grandes para una respuesta. Pida menos filas.',
  ],
  'Too many large rows are being written at the moment.': [
    'Há linhas grandes demais sendo gravadas no momento.',
    'Se están escribiendo demasiadas filas grandes en este momento.',
  ],
  'Looking for these rows takes too long. Use filters that an index answers, or that leave fewer rows.': [
    'A busca por estas linhas demora demais. Use filtros que um índice responda, ou que deixem menos linhas.',
    'La búsqueda de estas filas tarda demasiado. Use filtros que un índice responda, o que dejen menos filas.',
  ],
  'Other exports of your company are running.': [
    'Outras exportações da sua empresa estão em andamento.',
    'Hay otras exportaciones de su empresa en curso.',
  ],
  'The format cannot hold so many rows. Ask for fewer, or for another format.': [
    'O formato não comporta tantas linhas. Peça menos, ou outro formato.',
    'El formato no admite tantas filas. Pida menos, u otro formato.',
  ],
  'Others are using the table. Try again in a moment.': [
    'A tabela está em uso por outros. Tente novamente em instantes.',
    'Otros están usando la tabla. Inténtelo de nuevo en un momento.',
  ],
  'Others are using the table, or the change takes too long. Nothing was changed.': [
    'A tabela está em uso por outros, ou a alteração demora demais. Nada foi alterado.',
    'Otros están usando la tabla, o el cambio tarda demasiado. No se cambió nada.',
  ],
  'The table has as many indexes as it can have.': [
    'A tabela já tem o máximo de índices.',
    'La tabla ya tiene el máximo de índices.',
  ],
  'Another row has this value, and an index of the table says that it is unique.': [
    'Outra linha tem este valor, e um índice da tabela exige que ele seja único.',
    'Otra fila tiene este valor, y un índice de la tabla exige que sea único.',
  ],
  'Some values do not fit the columns of the table; nothing was written.': [
    'Alguns valores não servem nas colunas da tabela; nada foi gravado.',
    'Algunos valores no encajan en las columnas de la tabla; no se escribió nada.',
  ],
  'The columns cannot be changed as asked; the table was left as it was.': [
    'As colunas não podem ser alteradas como pedido; a tabela ficou como estava.',
    'Las columnas no se pueden cambiar como se pide; la tabla quedó como estaba.',
  ],
  'The columns do not match those of the files.': [
    'As colunas não correspondem às dos arquivos.',
    'Las columnas no corresponden a las de los archivos.',
  ],
  'The columns do not match those of the table.': [
    'As colunas não correspondem às da tabela.',
    'Las columnas no corresponden a las de la tabla.',
  ],
  'The upload job is not waiting for its confirm.': [
    'O upload não está aguardando confirmação.',
    'La carga no está esperando confirmación.',
  ],
  'The upload job has ended.': ['O upload já foi encerrado.', 'La carga ya terminó.'],
  'The load cannot be undone. `details.reason` says why: `not_done`, `already_undone`, `upsert`, `earlier_version`, `too_old`, `table_deleted`, `later_load`, `columns_changed`, `truncated`, `column_filled`, `values_do_not_fit` or `unique_index`; `details.column` names the column that would lose values.':
    [
      'A carga não pode ser desfeita. `details.reason` diz por quê; `details.column` indica a coluna que perderia valores.',
      'La carga no se puede deshacer. `details.reason` dice por qué; `details.column` indica la columna que perdería valores.',
    ],
  'Send the files as multipart/form-data, in the field "files".': [
    'Envie os arquivos como multipart/form-data, no campo "files".',
    'Envíe los archivos como multipart/form-data, en el campo "files".',
  ],
  'No file was sent.': ['Nenhum arquivo foi enviado.', 'No se envió ningún archivo.'],
  'Too many files were sent.': ['Foram enviados arquivos demais.', 'Se enviaron demasiados archivos.'],
  'The files are too large together.': [
    'Os arquivos são grandes demais no total.',
    'Los archivos son demasiado grandes en total.',
  ],
  'Files of this type are not accepted.': [
    'Arquivos deste tipo não são aceitos.',
    'No se aceptan archivos de este tipo.',
  ],

  // Dashboards, visualizations, sharing.
  'The visualization is on a dashboard, or published by an endpoint of the Data API. Remove it there first.': [
    'A visualização está em um dashboard, ou é publicada por um endpoint da Data API. Remova-a de lá primeiro.',
    'La visualización está en un dashboard, o la publica un endpoint de la Data API. Quítela de ahí primero.',
  ],
  'There is no such export. Exports are deleted a day after they end.': [
    'Esta exportação não existe. Exportações são excluídas um dia depois de terminarem.',
    'Esta exportación no existe. Las exportaciones se eliminan un día después de terminar.',
  ],
  'There is no such job. Jobs and their results are deleted after a day.': [
    'Este job não existe. Jobs e seus resultados são excluídos depois de um dia.',
    'Este trabajo no existe. Los trabajos y sus resultados se eliminan después de un día.',
  ],
  'At most 20 jobs of a company can be unfinished at once. Try again later.': [
    'No máximo 20 jobs de uma empresa podem estar inacabados ao mesmo tempo. Tente novamente mais tarde.',
    'Como máximo 20 trabajos de una empresa pueden estar sin terminar a la vez. Inténtelo más tarde.',
  ],
  'A schedule can be run at most 5 times in ten minutes, besides its scheduled runs.': [
    'Um agendamento pode ser executado no máximo 5 vezes em dez minutos, além das execuções agendadas.',
    'Una programación se puede ejecutar como máximo 5 veces en diez minutos, además de sus ejecuciones programadas.',
  ],
  'The company has the maximum number of schedules. Delete one first.': [
    'A empresa tem o máximo de agendamentos. Exclua um primeiro.',
    'La empresa tiene el máximo de programaciones. Elimine una primero.',
  ],
  'A company can have at most {most} schedules. Delete one first.': [
    'Uma empresa pode ter no máximo {most} agendamentos. Exclua um primeiro.',
    'Una empresa puede tener como máximo {most} programaciones. Elimine una primero.',
  ],
  'The link is not valid, or there is nothing left to unsubscribe from.': [
    'O link não é válido, ou não há mais nada a cancelar.',
    'El enlace no es válido, o ya no queda nada que cancelar.',
  ],
  'The link is not valid, or these emails were ended.': [
    'O link não é válido, ou estes e-mails foram encerrados.',
    'El enlace no es válido, o estos correos terminaron.',
  ],
  '`context_id` must be the id of a share context that you are a member of.': [
    '`context_id` deve ser o id de um contexto de compartilhamento do qual você é membro.',
    '`context_id` debe ser el id de un contexto compartido del que usted es miembro.',
  ],
  'The company has the maximum number of signing keys. Delete one first.': [
    'A empresa tem o máximo de chaves de assinatura. Exclua uma primeiro.',
    'La empresa tiene el máximo de claves de firma. Elimine una primero.',
  ],
  'A company has at most {limit} signing keys: delete one first.': [
    'Uma empresa tem no máximo {limit} chaves de assinatura: exclua uma primeiro.',
    'Una empresa tiene como máximo {limit} claves de firma: elimine una primero.',
  ],
  'The share is revoked. Create another one.': [
    'O compartilhamento foi revogado. Crie outro.',
    'El enlace compartido se revocó. Cree otro.',
  ],
  'Sign in to the portal to see this.': ['Entre no portal para ver isto.', 'Entre en el portal para ver esto.'],
  'This site is not one of the allowed origins.': [
    'Este site não é uma das origens permitidas.',
    'Este sitio no es uno de los orígenes permitidos.',
  ],
  'Too many people are viewing this at the moment. Try again in a few seconds.': [
    'Pessoas demais estão vendo isto no momento. Tente novamente em alguns segundos.',
    'Demasiadas personas están viendo esto en este momento. Inténtelo de nuevo en unos segundos.',
  ],
  'The viewer may not choose this filter or value.': [
    'O espectador não pode escolher este filtro ou valor.',
    'El espectador no puede elegir este filtro o valor.',
  ],
  'Results cannot be downloaded here.': [
    'Aqui os resultados não podem ser baixados.',
    'Aquí no se pueden descargar resultados.',
  ],
  'There is no such filter, or it has no options.': [
    'Este filtro não existe, ou não tem opções.',
    'Este filtro no existe, o no tiene opciones.',
  ],
  'This filter is not available.': ['Este filtro não está disponível.', 'Este filtro no está disponible.'],
  'The context has this member already.': ['O contexto já tem este membro.', 'El contexto ya tiene este miembro.'],

  // Knowledge.
  'No AI provider is configured.': [
    'Nenhum provedor de IA está configurado.',
    'No hay ningún proveedor de IA configurado.',
  ],
  'The AI provider could not be reached in time, or failed to answer.': [
    'O provedor de IA não pôde ser alcançado a tempo, ou não respondeu.',
    'No se pudo llegar a tiempo al proveedor de IA, o no respondió.',
  ],
  'The AI provider could not be reached in time.': [
    'O provedor de IA não pôde ser alcançado a tempo.',
    'No se pudo llegar a tiempo al proveedor de IA.',
  ],
  'The AI provider failed to answer.': ['O provedor de IA não respondeu.', 'El proveedor de IA no respondió.'],
  'The AI provider failed. Verified questions are still answered.': [
    'O provedor de IA falhou. Perguntas verificadas continuam sendo respondidas.',
    'El proveedor de IA falló. Las preguntas verificadas se siguen respondiendo.',
  ],
  'The AI provider proposed no change.': [
    'O provedor de IA não propôs nenhuma alteração.',
    'El proveedor de IA no propuso ningún cambio.',
  ],
  'The AI provider refused the request.': [
    'O provedor de IA recusou a requisição.',
    'El proveedor de IA rechazó la solicitud.',
  ],
  'The AI provider refused the request ({status}).': [
    'O provedor de IA recusou a requisição ({status}).',
    'El proveedor de IA rechazó la solicitud ({status}).',
  ],
  'The answer of the AI provider is not valid.': [
    'A resposta do provedor de IA não é válida.',
    'La respuesta del proveedor de IA no es válida.',
  ],
  'The job has ended.': ['O job terminou.', 'El trabajo terminó.'],
  'The job has ended: it is {status}.': ['O job terminou: está {status}.', 'El trabajo terminó: está {status}.'],
  'Another job of this type is running. Wait until it ends, or cancel it.': [
    'Outro job deste tipo está em andamento. Espere que termine, ou cancele-o.',
    'Otro trabajo de este tipo está en curso. Espere a que termine, o cancélelo.',
  ],
  'Something that the generation needs is missing.': [
    'Falta algo de que a geração precisa.',
    'Falta algo que la generación necesita.',
  ],
  'The file is larger than this route accepts.': [
    'O arquivo é maior do que esta rota aceita.',
    'El archivo es mayor de lo que esta ruta acepta.',
  ],
  'The file is larger than {limit} bytes.': [
    'O arquivo tem mais de {limit} bytes.',
    'El archivo tiene más de {limit} bytes.',
  ],
  'The document is larger than an import accepts.': [
    'O documento é maior do que uma importação aceita.',
    'El documento es mayor de lo que una importación acepta.',
  ],
  'The document is larger than {limit} bytes.': [
    'O documento tem mais de {limit} bytes.',
    'El documento tiene más de {limit} bytes.',
  ],
  'The document would be larger than {limit} bytes.': [
    'O documento teria mais de {limit} bytes.',
    'El documento tendría más de {limit} bytes.',
  ],
  'The document is not in the format that `Content-Type` says.': [
    'O documento não está no formato que `Content-Type` diz.',
    'El documento no está en el formato que dice `Content-Type`.',
  ],
  'The document cannot be read: {problem}': [
    'O documento não pode ser lido: {problem}',
    'El documento no se puede leer: {problem}',
  ],
  'There is more active knowledge than fits into a document.': [
    'Há mais conhecimento ativo do que cabe em um documento.',
    'Hay más conocimiento activo del que cabe en un documento.',
  ],
  'The {thing} is archived. To restore it, send the status draft or active with the change.': [
    'Está arquivado ({thing}). Para restaurá-lo, envie com a alteração o status draft ou active.',
    'Está archivado ({thing}). Para restaurarlo, envíe con el cambio el estado draft o active.',
  ],
  'The kind must stay {kind}, because other items refer to it. Change those first.': [
    'O tipo deve continuar {kind}, porque outros itens se referem a ele. Altere-os primeiro.',
    'El tipo debe seguir siendo {kind}, porque otros elementos se refieren a él. Cámbielos primero.',
  ],
  'Other items refer to this item as a metric or an entity, so its kind cannot be changed.': [
    'Outros itens se referem a este como métrica ou entidade, por isso o tipo não pode ser alterado.',
    'Otros elementos se refieren a este como métrica o entidad, por lo que su tipo no se puede cambiar.',
  ],
  'Joining the tables of the items would count rows of the metric more than once.': [
    'Unir as tabelas dos itens contaria linhas da métrica mais de uma vez.',
    'Unir las tablas de los elementos contaría filas de la métrica más de una vez.',
  ],
  'No mapped relations lead from the tables of one item to those of another.': [
    'Nenhuma relação mapeada leva das tabelas de um item às de outro.',
    'Ninguna relación mapeada lleva de las tablas de un elemento a las de otro.',
  ],
  'The mapped relations lead from the tables of one item to those of another in more than one way.': [
    'As relações mapeadas levam das tabelas de um item às de outro por mais de um caminho.',
    'Las relaciones mapeadas llevan de las tablas de un elemento a las de otro por más de un camino.',
  ],
  'There is no active metric or dimension of that id or name, or it has errors.': [
    'Não há métrica ou dimensão ativa com esse id ou nome, ou ela tem erros.',
    'No hay métrica o dimensión activa con ese id o nombre, o tiene errores.',
  ],
  'There is no active {kind} "{name}" without validation errors.': [
    'Não há {kind} "{name}" ativa sem erros de validação.',
    'No hay {kind} "{name}" activa sin errores de validación.',
  ],
  'The {kind} "{name}" cannot be computed: {why}.': [
    'Não é possível calcular {kind} "{name}": {why}.',
    'No se puede calcular {kind} "{name}": {why}.',
  ],
  'Too many questions within a minute.': ['Perguntas demais em um minuto.', 'Demasiadas preguntas en un minuto.'],
  'There is no such question, or it is no longer kept.': [
    'Esta pergunta não existe, ou não é mais guardada.',
    'Esta pregunta no existe, o ya no se guarda.',
  ],
  'The question was not answered: there is no query to accept.': [
    'A pergunta não foi respondida: não há consulta a aceitar.',
    'La pregunta no se respondió: no hay consulta que aceptar.',
  ],
  'The same verified question already exists; case, accents and punctuation make no difference.': [
    'A mesma pergunta verificada já existe; maiúsculas, acentos e pontuação não fazem diferença.',
    'La misma pregunta verificada ya existe; mayúsculas, acentos y puntuación no importan.',
  ],
  'The verified question is archived. To restore it, send `status: verified` with the change.': [
    'A pergunta verificada está arquivada. Para restaurá-la, envie `status: verified` com a alteração.',
    'La pregunta verificada está archivada. Para restaurarla, envíe `status: verified` con el cambio.',
  ],
  'The company has the maximum number of verified questions.': [
    'A empresa tem o máximo de perguntas verificadas.',
    'La empresa tiene el máximo de preguntas verificadas.',
  ],
  'A company can have at most {limit} verified questions. Archive one first.': [
    'Uma empresa pode ter no máximo {limit} perguntas verificadas. Arquive uma primeiro.',
    'Una empresa puede tener como máximo {limit} preguntas verificadas. Archive una primero.',
  ],
  'The suggestion is not pending any more.': [
    'A sugestão não está mais pendente.',
    'La sugerencia ya no está pendiente.',
  ],
  'The suggestion is not pending any more: it is {status}.': [
    'A sugestão não está mais pendente: está {status}.',
    'La sugerencia ya no está pendiente: está {status}.',
  ],
  'The suggestion depends on others that have not been accepted: those in `details.suggestion_ids`.': [
    'A sugestão depende de outras que não foram aceitas: as de `details.suggestion_ids`.',
    'La sugerencia depende de otras que no se han aceptado: las de `details.suggestion_ids`.',
  ],
  'The target has changed since the suggestion was made.': [
    'O alvo mudou desde que a sugestão foi feita.',
    'El destino ha cambiado desde que se hizo la sugerencia.',
  ],
  'Something went wrong on our side, and the suggestion may or may not have been accepted. Get it again to see its status.':
    [
      'Algo deu errado do nosso lado, e a sugestão pode ou não ter sido aceita. Consulte-a de novo para ver o status.',
      'Algo falló por nuestra parte, y la sugerencia puede haberse aceptado o no. Consúltela de nuevo para ver su estado.',
    ],
  'The redirect_uri is not one of those configured for the company.': [
    'O redirect_uri não é um dos configurados para a empresa.',
    'El redirect_uri no es uno de los configurados para la empresa.',
  ],
  'x-date must be ISO 8601 in UTC, such as 2026-01-31T12:00:00Z or 2026-01-31T12:00:00.123456+00:00.': [
    'x-date deve ser ISO 8601 em UTC, como 2026-01-31T12:00:00Z ou 2026-01-31T12:00:00.123456+00:00.',
    'x-date debe ser ISO 8601 en UTC, como 2026-01-31T12:00:00Z o 2026-01-31T12:00:00.123456+00:00.',
  ],
  'x-nonce must be 8 to 128 printable ASCII characters without spaces.': [
    'x-nonce deve ter de 8 a 128 caracteres ASCII imprimíveis, sem espaços.',
    'x-nonce debe tener de 8 a 128 caracteres ASCII imprimibles, sin espacios.',
  ],
  'x-content-sha256 must be a SHA-256 in lower-case hex.': [
    'x-content-sha256 deve ser um SHA-256 em hexadecimal minúsculo.',
    'x-content-sha256 debe ser un SHA-256 en hexadecimal en minúscula.',
  ],
  'Another row has this value, and an index of the table says that it is unique': [
    'Outra linha tem este valor, e um índice da tabela exige que ele seja único',
    'Otra fila tiene este valor, y un índice de la tabla exige que sea único',
  ],
  '{items} can be joined in more than one way.': [
    '{items}: as tabelas podem ser unidas por mais de um caminho.',
    '{items}: las tablas se pueden unir por más de un camino.',
  ],
  '{items} have tables that no mapped relation joins.': [
    '{items}: há tabelas que nenhuma relação mapeada une.',
    '{items}: hay tablas que ninguna relación mapeada une.',
  ],
  '{items} cannot be joined without counting rows more than once: the joined column is neither `id` nor unique.': [
    '{items}: não podem ser unidas sem contar linhas mais de uma vez: a coluna da união não é `id` nem única.',
    '{items}: no se pueden unir sin contar filas más de una vez: la columna de la unión no es `id` ni única.',
  ],
  'This route takes signed requests or service tokens, not the tokens of people.': [
    'Esta rota aceita requisições assinadas ou tokens de contas de serviço, não os tokens de pessoas.',
    'Esta ruta acepta solicitudes firmadas o tokens de cuentas de servicio, no los tokens de personas.',
  ],
  'This route takes signed requests, not tokens. With a token, use `{path}` of the console.': [
    'Esta rota aceita requisições assinadas, não tokens. Com um token, use `{path}` do console.',
    'Esta ruta acepta solicitudes firmadas, no tokens. Con un token, use `{path}` de la consola.',
  ],
  'This route takes signed requests, not tokens. Tokens are taken by the routes of the console, below `/v1`.': [
    'Esta rota aceita requisições assinadas, não tokens. Tokens são aceitos pelas rotas do console, abaixo de `/v1`.',
    'Esta ruta acepta solicitudes firmadas, no tokens. Las rutas de la consola, bajo `/v1`, aceptan tokens.',
  ],
  'You cannot delete yourself.': ['Você não pode excluir a si mesmo.', 'No puede eliminarse a sí mismo.'],

  // Resumable uploads.
  'The file is larger than 5 GiB.': ['O arquivo excede o limite de 5 GiB.', 'El archivo supera el límite de 5 GiB.'],
  'More bytes were sent than the upload has.': [
    'Foram enviados mais bytes do que o upload tem.',
    'Se enviaron más bytes de los que tiene la carga.',
  ],
  'The upload is at another offset. Ask for it with HEAD and go on there.': [
    'O upload está em outra posição. Consulte-a com HEAD e continue dali.',
    'La carga está en otra posición. Consúltela con HEAD y continúe desde allí.',
  ],
  'Another request is sending bytes of this upload. Try again in ten seconds.': [
    'Outra requisição está enviando bytes deste upload. Tente novamente em dez segundos.',
    'Otra solicitud está enviando bytes de esta carga. Vuelva a intentarlo en diez segundos.',
  ],
  'The bytes do not have the checksum that was sent with them. None of them was kept.': [
    'Os bytes não conferem com a soma de verificação enviada. Nenhum deles foi guardado.',
    'Los bytes no coinciden con la suma de comprobación enviada. No se guardó ninguno.',
  ],
  'The company has too many uploads that are begun and not finished. Finish or delete one.': [
    'A empresa tem uploads demais iniciados e não concluídos. Conclua ou exclua um deles.',
    'La empresa tiene demasiadas cargas iniciadas y sin terminar. Termine o elimine una.',
  ],
  'Send the header Tus-Resumable: 1.0.0.': [
    'Envie o cabeçalho Tus-Resumable: 1.0.0.',
    'Envíe la cabecera Tus-Resumable: 1.0.0.',
  ],
  'A header of the upload is missing or malformed.': [
    'Um cabeçalho do upload está ausente ou malformado.',
    'Falta una cabecera de la carga o está mal formada.',
  ],
  'Send the bytes with Content-Type: application/offset+octet-stream.': [
    'Envie os bytes com Content-Type: application/offset+octet-stream.',
    'Envíe los bytes con Content-Type: application/offset+octet-stream.',
  ],

  // Webhooks.
  'The company has the maximum number of webhook endpoints. Delete one first.': [
    'A empresa tem o número máximo de endpoints de webhook. Exclua um antes.',
    'La empresa tiene el número máximo de endpoints de webhook. Elimine uno antes.',
  ],
  'A company can have at most {most} webhook endpoints. Delete one first.': [
    'Uma empresa pode ter no máximo {most} endpoints de webhook. Exclua um antes.',
    'Una empresa puede tener como máximo {most} endpoints de webhook. Elimine uno antes.',
  ],
  'The webhook endpoint is paused or disabled. Set its status to active first.': [
    'O endpoint de webhook está pausado ou desativado. Defina antes seu status como ativo.',
    'El endpoint de webhook está en pausa o desactivado. Ponga antes su estado en activo.',
  ],
  'The webhook endpoint does not get the audit trail. Add audit.records to its event types first.': [
    'O endpoint de webhook não recebe a trilha de auditoria. Acrescente antes audit.records aos seus tipos de evento.',
    'El endpoint de webhook no recibe el registro de auditoría. Añada antes audit.records a sus tipos de evento.',
  ],

  // Directories. What is said of a filter, a path or a body stands by itself.
  'The filter {problem}.': ['O filtro {problem}.', 'El filtro {problem}.'],
  'The path {problem}.': ['O caminho {problem}.', 'La ruta {problem}.'],
  'The body {problem}.': ['O corpo {problem}.', 'El cuerpo {problem}.'],
  'has more than {count} characters': ['tem mais de {count} caracteres', 'tiene más de {count} caracteres'],
  'has more than {count} comparisons': ['tem mais de {count} comparações', 'tiene más de {count} comparaciones'],
  'has more than {count} Operations': ['tem mais de {count} Operations', 'tiene más de {count} Operations'],
  'is nested more than {count} levels deep': ['tem mais de {count} níveis', 'tiene más de {count} niveles'],
  'cannot be read from character {position} on': [
    'não pode ser lido a partir do caractere {position}',
    'no se puede leer a partir del carácter {position}',
  ],
  'goes on after its end, with {text}': [
    'continua depois do seu fim, com {text}',
    'continúa después de su fin, con {text}',
  ],
  'lacks an operator after {attribute}': [
    'não tem operador depois de {attribute}',
    'no tiene operador después de {attribute}',
  ],
  'lacks an attribute {problem}': ['não tem atributo {problem}', 'no tiene atributo {problem}'],
  'lacks a {sign} {problem}': ['não tem {sign} {problem}', 'no tiene {sign} {problem}'],
  'before {text}': ['antes de {text}', 'antes de {text}'],
  'at its end': ['no fim', 'al final'],
  'compares with something that is neither a text in double quotes, a number, true, false nor null': [
    'compara com algo que não é texto entre aspas, número, true, false nem null',
    'compara con algo que no es texto entre comillas, número, true, false ni null',
  ],
  'names {attribute}, which is no attribute of a {resource}': [
    'cita {attribute}, que não é atributo de {resource}',
    'nombra {attribute}, que no es atributo de {resource}',
  ],
  'compares too many values of groups or members': [
    'compara valores demais de grupos ou membros',
    'compara demasiados valores de grupos o miembros',
  ],
  'orders true and false by {operator}': ['ordena true e false por {operator}', 'ordena true y false por {operator}'],
  'looks for a part of what is no text by {operator}': [
    'procura por {operator} uma parte do que não é texto',
    'busca por {operator} una parte de lo que no es texto',
  ],
  'compares null by {operator}': ['compara null por {operator}', 'compara null por {operator}'],
  'compares true and false with something else': [
    'compara true e false com outra coisa',
    'compara true y false con otra cosa',
  ],
  'compares a text with something else': ['compara um texto com outra coisa', 'compara un texto con otra cosa'],
  'compares a time with something else': ['compara um momento com outra coisa', 'compara un momento con otra cosa'],
  'has a value path within another': [
    'tem um caminho de valores dentro de outro',
    'tiene una ruta de valores dentro de otra',
  ],
  'must be a text': ['deve ser um texto', 'debe ser un texto'],
  'must be a JSON object': ['deve ser um objeto JSON', 'debe ser un objeto JSON'],
  'lacks a list of Operations': ['não tem uma lista de Operations', 'no tiene una lista de Operations'],
  'has an operation that is no JSON object': [
    'tem uma operação que não é um objeto JSON',
    'tiene una operación que no es un objeto JSON',
  ],
  'has an operation whose op is none of add, replace and remove': [
    'tem uma operação cujo op não é add, replace nem remove',
    'tiene una operación cuyo op no es add, replace ni remove',
  ],
  'The filter cannot be read, or asks for what cannot be compared.': [
    'O filtro não pode ser lido ou pede o que não pode ser comparado.',
    'El filtro no se puede leer o pide lo que no se puede comparar.',
  ],
  'A path cannot be read.': ['Um caminho não pode ser lido.', 'Una ruta no se puede leer.'],
  'An operation has a path that leads to nothing, or none where it needs one.': [
    'Uma operação tem um caminho que não leva a nada, ou não tem o caminho de que precisa.',
    'Una operación tiene una ruta que no lleva a nada, o no tiene la ruta que necesita.',
  ],
  'An operation without a path needs an object as its value.': [
    'Uma operação sem caminho precisa de um objeto como valor.',
    'Una operación sin ruta necesita un objeto como valor.',
  ],
  'The body is not what SCIM has in this place.': [
    'O corpo não é o que o SCIM tem neste lugar.',
    'El cuerpo no es lo que SCIM tiene en este lugar.',
  ],
  'An attribute has a value that it cannot have, or lacks one.': [
    'Um atributo tem um valor que não pode ter, ou não tem valor.',
    'Un atributo tiene un valor que no puede tener, o no tiene valor.',
  ],
  'This attribute cannot be changed.': ['Este atributo não pode ser alterado.', 'Este atributo no se puede cambiar.'],
  '{attribute} cannot be changed.': ['{attribute} não pode ser alterado.', '{attribute} no se puede cambiar.'],
  'userName must be sent.': ['userName deve ser enviado.', 'userName se debe enviar.'],
  'userName cannot be removed.': ['userName não pode ser removido.', 'userName no se puede quitar.'],
  'userName must be an email address.': [
    'userName deve ser um endereço de e-mail.',
    'userName debe ser una dirección de correo.',
  ],
  'displayName must be sent.': ['displayName deve ser enviado.', 'displayName se debe enviar.'],
  'displayName cannot be removed.': ['displayName não pode ser removido.', 'displayName no se puede quitar.'],
  'name must be an object.': ['name deve ser um objeto.', 'name debe ser un objeto.'],
  'active must be true or false.': ['active deve ser true ou false.', 'active debe ser true o false.'],
  '{attribute} must be a text of one line of at most {max} characters.': [
    '{attribute} deve ser um texto de uma linha de no máximo {max} caracteres.',
    '{attribute} debe ser un texto de una línea de como máximo {max} caracteres.',
  ],
  '{attribute} must be a text of at most {max} characters.': [
    '{attribute} deve ser um texto de no máximo {max} caracteres.',
    '{attribute} debe ser un texto de como máximo {max} caracteres.',
  ],
  'members must be at most {max} in one request.': [
    'members devem ser no máximo {max} em uma requisição.',
    'members deben ser como máximo {max} en una solicitud.',
  ],
  'members must have the id of a user as their value.': [
    'members devem ter o id de um usuário como valor.',
    'members deben tener el id de un usuario como valor.',
  ],
  'sortOrder must be ascending or descending.': [
    'sortOrder deve ser ascending ou descending.',
    'sortOrder debe ser ascending o descending.',
  ],
  'sortBy must be one of {names}.': ['sortBy deve ser um destes: {names}.', 'sortBy debe ser uno de estos: {names}.'],
  '{attribute} must be a whole number.': [
    '{attribute} deve ser um número inteiro.',
    '{attribute} debe ser un número entero.',
  ],
  '{attribute} must be at most {max} names of attributes.': [
    '{attribute} deve ter no máximo {max} nomes de atributos.',
    '{attribute} debe tener como máximo {max} nombres de atributos.',
  ],
  'A group that every company is born with cannot be changed by a directory.': [
    'Um grupo com que toda empresa nasce não pode ser alterado por um diretório.',
    'Un grupo con el que nace cada empresa no lo puede cambiar un directorio.',
  ],
  'What SCIM can do here cannot be filtered.': [
    'O que o SCIM pode fazer aqui não pode ser filtrado.',
    'Lo que SCIM puede hacer aquí no se puede filtrar.',
  ],
  'The groups have too many members for one answer. Ask for fewer, or with `excludedAttributes=members`.': [
    'Os grupos têm membros demais para uma resposta. Peça menos, ou com `excludedAttributes=members`.',
    'Los grupos tienen demasiados miembros para una respuesta. Pida menos, o con `excludedAttributes=members`.',
  ],
  'Some members are no users of this company.': [
    'Alguns membros não são usuários desta empresa.',
    'Algunos miembros no son usuarios de esta empresa.',
  ],
  'The email address of a user who has not accepted the invitation yet cannot be changed.': [
    'O endereço de e-mail de um usuário que ainda não aceitou o convite não pode ser alterado.',
    'La dirección de correo de un usuario que aún no ha aceptado la invitación no se puede cambiar.',
  ],
  'The email address of the owner cannot be changed by others.': [
    'O endereço de e-mail do proprietário não pode ser alterado por outros.',
    'Otros no pueden cambiar la dirección de correo del propietario.',
  ],
  'Another user has this externalId.': ['Outro usuário tem este externalId.', 'Otro usuario tiene este externalId.'],
  'Another group has this externalId.': ['Outro grupo tem este externalId.', 'Otro grupo tiene este externalId.'],
};

/** The nouns that generated sentences contain as `{thing}`, `{field}` and `{kind}`, with their translations. */
export const NOUNS: Translations = {
  account: ['conta', 'cuenta'],
  'api key': ['chave de API', 'clave de API'],
  binding: ['vínculo', 'vínculo'],
  company: ['empresa', 'empresa'],
  concept: ['conceito', 'concepto'],
  dashboard: ['dashboard', 'dashboard'],
  'day of the month': ['dia do mês', 'día del mes'],
  'day of the week': ['dia da semana', 'día de la semana'],
  dimension: ['dimensão', 'dimensión'],
  email: ['e-mail', 'correo'],
  endpoint: ['endpoint', 'endpoint'],
  entity: ['entidade', 'entidad'],
  event: ['evento', 'evento'],
  group: ['grupo', 'grupo'],
  groups: ['grupos', 'grupos'],
  hour: ['hora', 'hora'],
  index: ['índice', 'índice'],
  job: ['job', 'trabajo'],
  logo: ['logo', 'logotipo'],
  member: ['membro', 'miembro'],
  metric: ['métrica', 'métrica'],
  minute: ['minuto', 'minuto'],
  month: ['mês', 'mes'],
  name: ['nome', 'nombre'],
  node: ['nó', 'nodo'],
  'ontology node': ['nó da ontologia', 'nodo de la ontología'],
  'ontology relation': ['relação da ontologia', 'relación de la ontología'],
  permission: ['permissão', 'permiso'],
  policy: ['política', 'política'],
  relation: ['relação', 'relación'],
  'resource type': ['tipo de recurso', 'tipo de recurso'],
  row: ['linha', 'fila'],
  schedule: ['agendamento', 'programación'],
  'webhook endpoint': ['endpoint de webhook', 'endpoint de webhook'],
  'webhook delivery': ['entrega de webhook', 'entrega de webhook'],
  schema: ['esquema', 'esquema'],
  script: ['script', 'script'],
  'semantic item': ['item semântico', 'elemento semántico'],
  'service account': ['conta de serviço', 'cuenta de servicio'],
  'service accounts': ['contas de serviço', 'cuentas de servicio'],
  share: ['compartilhamento', 'enlace compartido'],
  'share context': ['contexto de compartilhamento', 'contexto compartido'],
  'signing key': ['chave de assinatura', 'clave de firma'],
  slug: ['slug', 'slug'],
  suggestion: ['sugestão', 'sugerencia'],
  table: ['tabela', 'tabla'],
  'upload job': ['upload', 'carga'],
  user: ['usuário', 'usuario'],
  users: ['usuários', 'usuarios'],
  'verified question': ['pergunta verificada', 'pregunta verificada'],
  visualization: ['visualização', 'visualización'],
};
