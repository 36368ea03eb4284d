import type { Translations } from './failures.ts';

/**
 * The sentences about fields, by the machine-readable reason why the value of a field is rejected. `{name}` is a placeholder for a
 * part that varies; `{min}` and `{max}` are limits, which responses also contain as numbers.
 */
export const FIELD_SENTENCES = {
  required: {
    'is required': ['é obrigatório', 'es obligatorio'],
    'is required: a code from the authenticator': [
      'é obrigatório: um código do aplicativo autenticador',
      'es obligatorio: un código de la aplicación de autenticación',
    ],
    'is needed with service_id': ['é necessário com service_id', 'es necesario con service_id'],
    'is needed for a new issuer or client_id': [
      'é necessário para um novo issuer ou client_id',
      'es necesario para un nuevo issuer o client_id',
    ],
    'must not be null: the column is not nullable': [
      'não pode ser null: a coluna não aceita valores vazios',
      'no puede ser null: la columna no admite valores vacíos',
    ],
    '"{name}" is part of the key, so the files must fill it': [
      '"{name}" faz parte da chave, então os arquivos devem preenchê-la',
      '"{name}" forma parte de la clave, así que los archivos deben rellenarla',
    ],
    '"{name}" cannot be null in the table, so the files must fill it': [
      '"{name}" não pode ser null na tabela, então os arquivos devem preenchê-la',
      '"{name}" no puede ser null en la tabla, así que los archivos deben rellenarla',
    ],
    'is required with format': ['é obrigatório com format', 'es obligatorio con format'],
    'must be one file': ['deve ser um arquivo', 'debe ser un archivo'],
    'must include {slug}: it is required and has no fixed value': [
      'deve incluir {slug}: é obrigatório e não tem valor fixo',
      'debe incluir {slug}: es obligatorio y no tiene valor fijo',
    ],
    'must be in allowed_params': ['deve estar em allowed_params', 'debe estar en allowed_params'],
    'send exactly one of token_id, dashboard_id, visualization_id and viewer_id': [
      'envie exatamente um de token_id, dashboard_id, visualization_id e viewer_id',
      'envíe exactamente uno de token_id, dashboard_id, visualization_id y viewer_id',
    ],
    'must hold user_id or email': ['deve ter user_id ou email', 'debe tener user_id o email'],
    'is required: what to compare with': ['é obrigatório: com o que comparar', 'es obligatorio: con qué comparar'],
    'has no expression in ANSI_SQL': ['não tem expressão em ANSI_SQL', 'no tiene expresión en ANSI_SQL'],
    'needs a date or datetime among the dimensions': [
      'precisa de uma data ou data e hora entre as dimensões',
      'necesita una fecha o una fecha y hora entre las dimensiones',
    ],
    'lack a required value that cannot be chosen here': [
      'não têm um valor obrigatório que não pode ser escolhido aqui',
      'no tienen un valor obligatorio que no se puede elegir aquí',
    ],
    'an optional clause "[[ … ]]" needs a parameter': [
      'uma cláusula opcional "[[ … ]]" precisa de um parâmetro',
      'una cláusula opcional "[[ … ]]" necesita un parámetro',
    ],
    'the company has no business domain: configure one first': [
      'a empresa não tem domínio de negócio: configure um primeiro',
      'la empresa no tiene dominio de negocio: configure uno primero',
    ],
    'the company has no concept of type entity_hint: create one first': [
      'a empresa não tem conceito do tipo entity_hint: crie um primeiro',
      'la empresa no tiene un concepto de tipo entity_hint: cree uno primero',
    ],
  },
  unknown: {
    'is not a field of this request': ['não é um campo desta requisição', 'no es un campo de esta solicitud'],
    'is not a parameter of this route': ['não é um parâmetro desta rota', 'no es un parámetro de esta ruta'],
    'is not an argument of this tool': [
      'não é um argumento desta ferramenta',
      'no es un argumento de esta herramienta',
    ],
    'is not a field of the policy language': [
      'não é um campo da linguagem de políticas',
      'no es un campo del lenguaje de políticas',
    ],
    'must name a column of the table': ['deve indicar uma coluna da tabela', 'debe indicar una columna de la tabla'],
    'must name a column of the table or "id"': [
      'deve indicar uma coluna da tabela ou "id"',
      'debe indicar una columna de la tabla o "id"',
    ],
    'is not a column of the table': ['não é uma coluna da tabela', 'no es una columna de la tabla'],
    'is not a column of the files': ['não é uma coluna dos arquivos', 'no es una columna de los archivos'],
    'is not a parameter of this dashboard or visualization': [
      'não é um parâmetro deste dashboard ou desta visualização',
      'no es un parámetro de este dashboard o de esta visualización',
    ],
    'is not a parameter of this endpoint': ['não é um parâmetro deste endpoint', 'no es un parámetro de este endpoint'],
    'is not a filter of the dashboard': ['não é um filtro do dashboard', 'no es un filtro del dashboard'],
    'is not a field of the document': ['não é um campo do documento', 'no es un campo del documento'],
    '"{column}" is not a column of the table': [
      '"{column}" não é uma coluna da tabela',
      '"{column}" no es una columna de la tabla',
    ],
    'is not a column of the files: say which one with source_index': [
      'não é uma coluna dos arquivos: diga qual com source_index',
      'no es una columna de los archivos: diga cuál con source_index',
    ],
    'is not a field of this request: {names}': [
      'não é um campo desta requisição: {names}',
      'no es un campo de esta solicitud: {names}',
    ],
  },
  type: {
    'is not valid': ['não é válido', 'no es válido'],
    'must be text': ['deve ser um texto', 'debe ser un texto'],
    'must be a number': ['deve ser um número', 'debe ser un número'],
    'must be a whole number': ['deve ser um número inteiro', 'debe ser un número entero'],
    'must be a whole number from {min} to {max}': [
      'deve ser um número inteiro de {min} a {max}',
      'debe ser un número entero de {min} a {max}',
    ],
    'must be true or false': ['deve ser true ou false', 'debe ser true o false'],
    'must be a list': ['deve ser uma lista', 'debe ser una lista'],
    'must be an object': ['deve ser um objeto', 'debe ser un objeto'],
    'must be null': ['deve ser null', 'debe ser null'],
    'must be a file': ['deve ser um arquivo', 'debe ser un archivo'],
    'fits none of the forms that it can have': [
      'não tem nenhuma das formas possíveis',
      'no tiene ninguna de las formas posibles',
    ],
    'must be a string of Unicode text without NUL characters': [
      'deve ser um texto Unicode sem caracteres NUL',
      'debe ser un texto Unicode sin caracteres NUL',
    ],
    'must be a text, a number or a boolean': [
      'deve ser um texto, um número ou um booleano',
      'debe ser un texto, un número o un booleano',
    ],
    'must be an object of operators': ['deve ser um objeto de operadores', 'debe ser un objeto de operadores'],
    'must be an object of slugs and values': [
      'deve ser um objeto de slugs e valores',
      'debe ser un objeto de slugs y valores',
    ],
    'must be an object with effect, actions and resources': [
      'deve ser um objeto com effect, actions e resources',
      'debe ser un objeto con effect, actions y resources',
    ],
    'must be an object with version and statements': [
      'deve ser um objeto com version e statements',
      'debe ser un objeto con version y statements',
    ],
    'must be an object of column names and values': [
      'deve ser um objeto de nomes de colunas e valores',
      'debe ser un objeto de nombres de columnas y valores',
    ],
    'must be a number, or a string of one': [
      'deve ser um número, ou um texto com um número',
      'debe ser un número, o un texto con un número',
    ],
    'must be an integer within 64 bits; beyond ±9007199254740991 send it as a string, because JSON numbers lose digits there':
      [
        'deve ser um inteiro de até 64 bits; além de ±9007199254740991 envie-o como texto, porque números JSON perdem dígitos',
        'debe ser un entero de hasta 64 bits; más allá de ±9007199254740991 envíelo como texto, porque los números JSON pierden dígitos',
      ],
    'must be a list of values': ['deve ser uma lista de valores', 'debe ser una lista de valores'],
    'must be { "from": date, "to": date }; either end may be left out': [
      'deve ser { "from": data, "to": data }; cada ponta pode ser omitida',
      'debe ser { "from": fecha, "to": fecha }; cada extremo puede omitirse',
    ],
    'must be a text, a number, true, false, or a list of them': [
      'deve ser um texto, um número, true, false, ou uma lista deles',
      'debe ser un texto, un número, true, false, o una lista de ellos',
    ],
    'must be a list of texts, numbers, true and false': [
      'deve ser uma lista de textos, números, true e false',
      'debe ser una lista de textos, números, true y false',
    ],
    'takes no value of type {type}': ['não aceita valor do tipo {type}', 'no admite un valor de tipo {type}'],
  },
  too_short: {
    'must not be empty': ['não pode ficar vazio', 'no puede estar vacío'],
    'must have at least {min} characters': [
      'deve ter pelo menos {min} caracteres',
      'debe tener al menos {min} caracteres',
    ],
    'holds no text': ['não contém texto', 'no contiene texto'],
    'is empty': ['está vazio', 'está vacío'],
  },
  too_long: {
    'must have at most {max} characters': [
      'deve ter no máximo {max} caracteres',
      'debe tener como máximo {max} caracteres',
    ],
    'must be a text of at most {max} characters': [
      'deve ser um texto de no máximo {max} caracteres',
      'debe ser un texto de como máximo {max} caracteres',
    ],
    'must hold at most {max} characters of SQL and parameters together': [
      'deve ter no máximo {max} caracteres de SQL e parâmetros no total',
      'debe tener como máximo {max} caracteres de SQL y parámetros en total',
    ],
    'must hold at most {max} characters of SQL for options together': [
      'deve ter no máximo {max} caracteres de SQL para opções no total',
      'debe tener como máximo {max} caracteres de SQL para opciones en total',
    ],
    'is too long for a dashboard that it is on: at most {max} characters of SQL and parameters together': [
      'é longo demais para um dashboard em que está: no máximo {max} caracteres de SQL e parâmetros no total',
      'es demasiado largo para un dashboard en el que está: como máximo {max} caracteres de SQL y parámetros en total',
    ],
    'cannot be xlsx: "{column}" has a text of more than {max} characters, which no cell can hold': [
      'não pode ser xlsx: "{column}" tem um texto de mais de {max} caracteres, que nenhuma célula comporta',
      'no puede ser xlsx: "{column}" tiene un texto de más de {max} caracteres, que ninguna celda admite',
    ],
    'must be text of at most {max} characters': [
      'deve ser um texto de no máximo {max} caracteres',
      'debe ser un texto de como máximo {max} caracteres',
    ],
    'must hold texts of at most {max} characters': [
      'deve ter textos de no máximo {max} caracteres',
      'debe tener textos de como máximo {max} caracteres',
    ],
    'holds more than {max} characters': ['contém mais de {max} caracteres', 'contiene más de {max} caracteres'],
    'are too long: the token would not fit into a URL': [
      'são longos demais: o token não caberia em uma URL',
      'son demasiado largos: el token no cabría en una URL',
    ],
    '"{column}" has an index, and as {type} a value would be too long for it': [
      '"{column}" tem um índice, e como {type} um valor seria longo demais para ele',
      '"{column}" tiene un índice, y como {type} un valor sería demasiado largo para él',
    ],
    '"{column}" has texts of more than {max} bytes, too long for a cursor: sort by another column': [
      '"{column}" tem textos de mais de {max} bytes, longos demais para um cursor: ordene por outra coluna',
      '"{column}" tiene textos de más de {max} bytes, demasiado largos para un cursor: ordene por otra columna',
    ],
    '"{column}" is too long for an index, in the row {id}': [
      '"{column}" é longa demais para um índice, na linha {id}',
      '"{column}" es demasiado larga para un índice, en la fila {id}',
    ],
    '"{column}" is too long for an index': [
      '"{column}" é longa demais para um índice',
      '"{column}" es demasiado larga para un índice',
    ],
    '"{column}" has a text of more than {max} characters, which no cell can hold': [
      '"{column}" tem um texto de mais de {max} caracteres, que nenhuma célula comporta',
      '"{column}" tiene un texto de más de {max} caracteres, que ninguna celda admite',
    ],
  },
  too_small: {
    'must be at least {min}': ['deve ser no mínimo {min}', 'debe ser como mínimo {min}'],
    'must be more than {min}': ['deve ser maior que {min}', 'debe ser mayor que {min}'],
    'must be in the future': ['deve estar no futuro', 'debe estar en el futuro'],
    'must hold a key of at least {min} bits': [
      'deve conter uma chave de pelo menos {min} bits',
      'debe contener una clave de al menos {min} bits',
    ],
    'must leave at least 15 minutes between two times': [
      'deve deixar pelo menos 15 minutos entre dois horários',
      'debe dejar al menos 15 minutos entre dos horas',
    ],
    'is too short for the time between `from` and `to`: at most {max} intervals can be returned': [
      'é curto demais para o tempo entre `from` e `to`: no máximo {max} intervalos podem ser retornados',
      'es demasiado corto para el tiempo entre `from` y `to`: se pueden devolver como máximo {max} intervalos',
    ],
  },
  too_large: {
    'must be at most {max}': ['deve ser no máximo {max}', 'debe ser como máximo {max}'],
    'must be less than {max}': ['deve ser menor que {max}', 'debe ser menor que {max}'],
    'must be before the year 10000 in UTC': [
      'deve ser anterior ao ano 10000 em UTC',
      'debe ser anterior al año 10000 en UTC',
    ],
    'must be at most 16 KiB as JSON': [
      'deve ter no máximo 16 KiB como JSON',
      'debe ocupar como máximo 16 KiB como JSON',
    ],
    'must have at most {max} characters as JSON': [
      'deve ter no máximo {max} caracteres como JSON',
      'debe tener como máximo {max} caracteres como JSON',
    ],
    'must be at most {max} pixels wide and high; it is {width} by {height}': [
      'deve ter no máximo {max} pixels de largura e altura; tem {width} por {height}',
      'debe tener como máximo {max} píxeles de ancho y alto; tiene {width} por {height}',
    ],
    'holds more than {max} bytes when unpacked': [
      'contém mais de {max} bytes quando descompactado',
      'contiene más de {max} bytes al descomprimirse',
    ],
  },
  too_few: {
    'must hold at least one entry': ['deve ter pelo menos um item', 'debe tener al menos un elemento'],
    'must hold at least {min} entries': ['deve ter pelo menos {min} itens', 'debe tener al menos {min} elementos'],
    'must hold at least one value': ['deve ter pelo menos um valor', 'debe tener al menos un valor'],
    'must hold at least one row': ['deve ter pelo menos uma linha', 'debe tener al menos una fila'],
    'must name at least one column to change': [
      'deve indicar pelo menos uma coluna a alterar',
      'debe indicar al menos una columna que cambiar',
    ],
    'must hold at least one column': ['deve ter pelo menos uma coluna', 'debe tener al menos una columna'],
    'must include at least one column that the files fill': [
      'deve incluir pelo menos uma coluna que os arquivos preencham',
      'debe incluir al menos una columna que los archivos rellenen',
    ],
    'must name at least one concept, for an item of kind {kind}': [
      'deve indicar pelo menos um conceito, para um item do tipo {kind}',
      'debe indicar al menos un concepto, para un elemento de tipo {kind}',
    ],
  },
  too_many: {
    'must hold at most {max} entries': ['deve ter no máximo {max} itens', 'debe tener como máximo {max} elementos'],
    'must hold at most {max} values': ['deve ter no máximo {max} valores', 'debe tener como máximo {max} valores'],
    'must be one value': ['deve ser um só valor', 'debe ser un solo valor'],
    'must be sent once': ['deve ser enviado uma só vez', 'debe enviarse una sola vez'],
    'must have at most {max} keys': ['deve ter no máximo {max} chaves', 'debe tener como máximo {max} claves'],
    'must be at most {max} filters': ['deve ter no máximo {max} filtros', 'debe tener como máximo {max} filtros'],
    'must hold at most {max} rows': ['deve ter no máximo {max} linhas', 'debe tener como máximo {max} filas'],
    'must have at most {max} fields': ['deve ter no máximo {max} campos', 'debe tener como máximo {max} campos'],
    'must hold at most {max} columns': ['deve ter no máximo {max} colunas', 'debe tener como máximo {max} columnas'],
    'must name 1 to {max} columns': ['deve indicar de 1 a {max} colunas', 'debe indicar de 1 a {max} columnas'],
    'would be more than {max} columns in the table': [
      'seriam mais de {max} colunas na tabela',
      'serían más de {max} columnas en la tabla',
    ],
    'must use parameters at most {max} times': [
      'deve usar parâmetros no máximo {max} vezes',
      'debe usar parámetros como máximo {max} veces',
    ],
    'must hold at most {max} parameters': [
      'deve ter no máximo {max} parâmetros',
      'debe tener como máximo {max} parámetros',
    ],
    'must be one file at most': ['deve ser no máximo um arquivo', 'debe ser como máximo un archivo'],
    'takes one value only: to allow several, compare with = ANY({slug}) in the SQL': [
      'aceita um só valor: para permitir vários, compare com = ANY({slug}) no SQL',
      'admite un solo valor: para permitir varios, compare con = ANY({slug}) en el SQL',
    ],
    'exceeds the limit of {max} revoked tokens and viewers a year: revoke all tokens of a dashboard or visualization, or rotate the key':
      [
        'ultrapassa o limite de {max} tokens e espectadores revogados por ano: revogue todos os tokens de um dashboard ou de uma visualização, ou troque a chave',
        'supera el límite de {max} tokens y espectadores revocados al año: revoque todos los tokens de un dashboard o de una visualización, o cambie la clave',
      ],
    'must hold at most {max} attributes': [
      'deve ter no máximo {max} atributos',
      'debe tener como máximo {max} atributos',
    ],
    'must be at most {days} days before `to`': [
      'deve ser no máximo {days} dias antes de `to`',
      'debe ser como máximo {days} días antes de `to`',
    ],
    'has {cells} cells, but the header has {columns}': [
      'tem {cells} células, mas o cabeçalho tem {columns}',
      'tiene {cells} celdas, pero el encabezado tiene {columns}',
    ],
    'joins by several columns, but a relation can have only one': [
      'une por várias colunas, mas uma relação só pode ter uma',
      'une por varias columnas, pero una relación solo puede tener una',
    ],
    'has too many tables and columns to generate an ontology from': [
      'tem tabelas e colunas demais para gerar uma ontologia',
      'tiene demasiadas tablas y columnas para generar una ontología',
    ],
    "cannot be joined: the company's items hold more than {max} mapped relations": [
      'não podem ser unidas: os itens da empresa têm mais de {max} relações mapeadas',
      'no se pueden unir: los elementos de la empresa tienen más de {max} relaciones mapeadas',
    ],
    'must be one value for {operator}': [
      'deve ser um só valor para {operator}',
      'debe ser un solo valor para {operator}',
    ],
    'takes {count} arguments': ['aceita {count} argumentos', 'admite {count} argumentos'],
    'are too many for this table: dropped columns count too': [
      'são demais para esta tabela: colunas removidas também contam',
      'son demasiadas para esta tabla: las columnas eliminadas también cuentan',
    ],
    'a context has at most {max} members': [
      'um contexto tem no máximo {max} membros',
      'un contexto tiene como máximo {max} miembros',
    ],
    'a line holds at most {max} optional clauses with a default': [
      'uma linha tem no máximo {max} cláusulas opcionais com padrão',
      'una línea tiene como máximo {max} cláusulas opcionales con valor predeterminado',
    ],
  },
  format: {
    'must be an email address': ['deve ser um endereço de e-mail', 'debe ser una dirección de correo electrónico'],
    'must be a web address': ['deve ser um endereço da web', 'debe ser una dirección web'],
    'must be a time such as 2026-01-31T12:00:00Z': [
      'deve ser uma data e hora como 2026-01-31T12:00:00Z',
      'debe ser una fecha y hora como 2026-01-31T12:00:00Z',
    ],
    'must be a UUID': ['deve ser um UUID', 'debe ser un UUID'],
    'has not the expected form': ['não tem a forma esperada', 'no tiene la forma esperada'],
    'must be UTF-8': ['deve estar em UTF-8', 'debe estar en UTF-8'],
    'must be Unicode text': ['deve ser um texto Unicode', 'debe ser un texto Unicode'],
    'must be Unicode text without NUL characters': [
      'deve ser um texto Unicode sem caracteres NUL',
      'debe ser un texto Unicode sin caracteres NUL',
    ],
    'must not hold NUL characters': ['não pode conter caracteres NUL', 'no puede contener caracteres NUL'],
    'must hold no control characters': [
      'não pode conter caracteres de controle',
      'no puede contener caracteres de control',
    ],
    'must be 1 to 255 visible ASCII characters, without spaces': [
      'deve ter de 1 a 255 caracteres ASCII visíveis, sem espaços',
      'debe tener de 1 a 255 caracteres ASCII visibles, sin espacios',
    ],
    'must be `*`, or a list of entity tags in double quotes': [
      'deve ser `*` ou uma lista de etiquetas entre aspas duplas',
      'debe ser `*` o una lista de etiquetas entre comillas dobles',
    ],
    'must be written as {name}[column][operator]=value, or as JSON: {json}': [
      'deve ser escrito como {name}[column][operator]=value, ou como JSON: {json}',
      'debe escribirse como {name}[column][operator]=value, o como JSON: {json}',
    ],
    'must be written as filter[column][operator]=value, or as JSON': [
      'deve ser escrito como filter[column][operator]=value, ou como JSON',
      'debe escribirse como filter[column][operator]=value, o como JSON',
    ],
    'must be a JSON-RPC 2.0 message': ['deve ser uma mensagem JSON-RPC 2.0', 'debe ser un mensaje JSON-RPC 2.0'],
    'must be 24 lower-case hexadecimal characters': [
      'deve ter 24 caracteres hexadecimais minúsculos',
      'debe tener 24 caracteres hexadecimales en minúscula',
    ],
    'must be 24 lower-case hexadecimal characters, or "*"': [
      'deve ter 24 caracteres hexadecimais minúsculos, ou "*"',
      'debe tener 24 caracteres hexadecimales en minúscula, o "*"',
    ],
    'must be lower-case letters and digits, separated by single hyphens': [
      'deve ter letras minúsculas e dígitos, separados por hífens simples',
      'debe tener letras minúsculas y dígitos, separados por guiones simples',
    ],
    'must be lower-case letters, digits and _, with single hyphens between them': [
      'deve ter letras minúsculas, dígitos e _, com hífens simples entre eles',
      'debe tener letras minúsculas, dígitos y _, con guiones simples entre ellos',
    ],
    'must be six digits': ['deve ter seis dígitos', 'debe tener seis dígitos'],
    'must be eight digits, such as 1234-5678': [
      'deve ter oito dígitos, como 1234-5678',
      'debe tener ocho dígitos, como 1234-5678',
    ],
    'is one of the most common passwords; choose another': [
      'é uma das senhas mais comuns; escolha outra',
      'es una de las contraseñas más comunes; elija otra',
    ],
    'is too similar to the name, email or company; choose another': [
      'é parecida demais com o nome, o e-mail ou a empresa; escolha outra',
      'se parece demasiado al nombre, al correo o a la empresa; elija otra',
    ],
    'must hold neither "*" nor control characters': [
      'não pode conter "*" nem caracteres de controle',
      'no puede contener "*" ni caracteres de control',
    ],
    'must be one resource ARN (arn:svc:…), or "*"': [
      'deve ser o ARN de um recurso (arn:svc:…), ou "*"',
      'debe ser el ARN de un recurso (arn:svc:…), o "*"',
    ],
    'must be "*" or a resource ARN pattern (arn:svc:…)': [
      'deve ser "*" ou um padrão de ARN (arn:svc:…)',
      'debe ser "*" o un patrón de ARN (arn:svc:…)',
    ],
    'must be 1 to 128 letters, digits, or "_", ".", "-", " " between them': [
      'deve ter de 1 a 128 letras, dígitos, ou "_", ".", "-", " " entre eles',
      'debe tener de 1 a 128 letras, dígitos, o "_", ".", "-", " " entre ellos',
    ],
    'must be an absolute URL': ['deve ser uma URL absoluta', 'debe ser una URL absoluta'],
    'must be an https URL': ['deve ser uma URL https', 'debe ser una URL https'],
    'must be an https address, or one of the own machine or of an app': [
      'deve ser um endereço https, ou um da própria máquina ou de um aplicativo',
      'debe ser una dirección https, o una de la propia máquina o de una aplicación',
    ],
    'must be an https URL, or http on the same machine': [
      'deve ser uma URL https, ou http na mesma máquina',
      'debe ser una URL https, o http en la misma máquina',
    ],
    'must be on a public host': ['deve estar em um host público', 'debe estar en un host público'],
    'must have no fragment, user name or password': [
      'não pode ter fragmento, nome de usuário ou senha',
      'no puede tener fragmento, nombre de usuario ni contraseña',
    ],
    'must not carry a user name or password': [
      'não pode conter nome de usuário ou senha',
      'no puede contener nombre de usuario ni contraseña',
    ],
    'must use port 443, or a port from 1024 up': [
      'deve usar a porta 443, ou uma porta a partir de 1024',
      'debe usar el puerto 443, o un puerto a partir del 1024',
    ],
    'must be one certificate in PEM form': [
      'deve ser um certificado na forma PEM',
      'debe ser un certificado en forma PEM',
    ],
    'must hold an RSA key': ['deve conter uma chave RSA', 'debe contener una clave RSA'],
    'must be an origin such as https://www.example.com': [
      'deve ser uma origem como https://www.example.com',
      'debe ser un origen como https://www.example.com',
    ],
    'must be ids of rows': ['deve ter ids de linhas', 'debe tener ids de filas'],
    'must be values separated by commas; put a value that contains a comma or a quote in "…" and double its quotes': [
      'deve ter valores separados por vírgulas; ponha entre "…" um valor que contém vírgula ou aspas, e dobre as aspas',
      'debe tener valores separados por comas; ponga entre "…" un valor que contiene una coma o comillas, y duplique las comillas',
    ],
    'must be written as "field", "field ASC", "field DESC", "-field" or "-field DESC"': [
      'deve ser escrito como "field", "field ASC", "field DESC", "-field" ou "-field DESC"',
      'debe escribirse como "field", "field ASC", "field DESC", "-field" o "-field DESC"',
    ],
    'must be a date such as "2024-01-31"': [
      'deve ser uma data como "2024-01-31"',
      'debe ser una fecha como "2024-01-31"',
    ],
    'must be a date such as "2024-01-31", from year 0001 to 9999': [
      'deve ser uma data como "2024-01-31", do ano 0001 ao 9999',
      'debe ser una fecha como "2024-01-31", del año 0001 al 9999',
    ],
    'must be a date and time such as "2024-01-31T13:45:00Z", from year 0001 to 9999, to the microsecond': [
      'deve ser uma data e hora como "2024-01-31T13:45:00Z", do ano 0001 ao 9999, até o microssegundo',
      'debe ser una fecha y hora como "2024-01-31T13:45:00Z", del año 0001 al 9999, hasta el microsegundo',
    ],
    'must start with a lower-case letter or _ and hold only a-z, 0-9 and _': [
      'deve começar com uma letra minúscula ou _ e conter apenas a-z, 0-9 e _',
      'debe empezar con una letra minúscula o _ y contener solo a-z, 0-9 y _',
    ],
    'must be the id of a visualization': ['deve ser o id de uma visualização', 'debe ser el id de una visualización'],
    'must be a color such as #1d5bd8': ['deve ser uma cor como #1d5bd8', 'debe ser un color como #1d5bd8'],
    'must be a PNG, JPEG or WebP picture': [
      'deve ser uma imagem PNG, JPEG ou WebP',
      'debe ser una imagen PNG, JPEG o WebP',
    ],
    'is not a PNG picture': ['não é uma imagem PNG', 'no es una imagen PNG'],
    'must not be animated': ['não pode ser animada', 'no puede ser animada'],
    'has no pixels': ['não tem pixels', 'no tiene píxeles'],
    'is damaged': ['está danificado', 'está dañado'],
    'is not whole': ['está incompleto', 'está incompleto'],
    'holds more than its size says': ['contém mais do que o seu tamanho diz', 'contiene más de lo que dice su tamaño'],
    'must be sent as a form, or as the body itself': [
      'deve ser enviado como formulário, ou como o próprio corpo',
      'debe enviarse como formulario, o como el propio cuerpo',
    ],
    'cannot have "{value}" as the {field}, which goes from {first} to {last}': [
      'não pode ter "{value}" como {field}, que vai de {first} a {last}',
      'no puede tener "{value}" como {field}, que va de {first} a {last}',
    ],
    'cannot have "{value}" as the {field}: steps are from 1 to {last}, after * or a range': [
      'não pode ter "{value}" como {field}: os passos vão de 1 a {last}, depois de * ou de um intervalo',
      'no puede tener "{value}" como {field}: los pasos van de 1 a {last}, después de * o de un rango',
    ],
    'cannot have "{value}": it ends before it begins': [
      'não pode ter "{value}": termina antes de começar',
      'no puede tener "{value}": termina antes de empezar',
    ],
    'must have five fields: minute, hour, day of the month, month, day of the week': [
      'deve ter cinco campos: minuto, hora, dia do mês, mês, dia da semana',
      'debe tener cinco campos: minuto, hora, día del mes, mes, día de la semana',
    ],
    'must hold a letter or a digit': ['deve conter uma letra ou um dígito', 'debe contener una letra o un dígito'],
    'must be one SQL expression': ['deve ser uma expressão SQL', 'debe ser una expresión SQL'],
    'must be `{form}`': ['deve ser `{form}`', 'debe ser `{form}`'],
    'is damaged, or not what its name says': [
      'está danificado, ou não é o que o nome diz',
      'está dañado, o no es lo que su nombre dice',
    ],
    'is not a Word document': ['não é um documento do Word', 'no es un documento de Word'],
    'is not a text file': ['não é um arquivo de texto', 'no es un archivo de texto'],
    'has {count} cells, but the header has {width}': [
      'tem {count} células, mas o cabeçalho tem {width}',
      'tiene {count} celdas, pero el encabezado tiene {width}',
    ],
    "must be a number and a unit such as '30 days'": [
      "deve ser um número e uma unidade como '30 days'",
      "debe ser un número y una unidad como '30 days'",
    ],
    'must be the id of a row': ['deve ser o id de uma linha', 'debe ser el id de una fila'],
    'never occurs': ['nunca ocorre', 'nunca ocurre'],
    'an optional clause "[[" is not closed': [
      'uma cláusula opcional "[[" não é fechada',
      'una cláusula opcional "[[" no se cierra',
    ],
    'write parameters as {{slug}}, not as $1': [
      'escreva parâmetros como {{slug}}, não como $1',
      'escriba los parámetros como {{slug}}, no como $1',
    ],
    'the default of an optional clause ends with its line': [
      'o padrão de uma cláusula opcional termina com a sua linha',
      'el valor predeterminado de una cláusula opcional termina con su línea',
    ],
    'a parameter is written {{slug}}': ['um parâmetro é escrito {{slug}}', 'un parámetro se escribe {{slug}}'],
    '{place}: a date range gives .from and .to': [
      '{place}: um intervalo de datas dá .from e .to',
      '{place}: un rango de fechas da .from y .to',
    ],
    'optional clauses "[[ … ]]" do not nest': [
      'cláusulas opcionais "[[ … ]]" não se aninham',
      'las cláusulas opcionales "[[ … ]]" no se anidan',
    ],
    '{problem} (at character {position})': [
      '{problem} (no caractere {position})',
      '{problem} (en el carácter {position})',
    ],
  },
  not_one_of: {
    'must be exactly {value}': ['deve ser exatamente {value}', 'debe ser exactamente {value}'],
    'must be one of {values}': ['deve ser um destes: {values}', 'debe ser uno de estos: {values}'],
    'must be one of {values}; prefix "-" for descending': [
      'deve ser um destes: {values}; prefixe "-" para ordem decrescente',
      'debe ser uno de estos: {values}; anteponga "-" para orden descendente',
    ],
    'must be an action that GET /v1/policies/actions lists': [
      'deve ser uma ação que GET /v1/policies/actions lista',
      'debe ser una acción que GET /v1/policies/actions enumera',
    ],
    'must be a service that GET /v1/policies/actions lists': [
      'deve ser um serviço que GET /v1/policies/actions lista',
      'debe ser un servicio que GET /v1/policies/actions enumera',
    ],
    'must be "Allow" or "Deny"': ['deve ser "Allow" ou "Deny"', 'debe ser "Allow" o "Deny"'],
    'must be "{value}"': ['deve ser "{value}"', 'debe ser "{value}"'],
    'must be one of the configured redirect_uris, exactly': [
      'deve ser exatamente uma das redirect_uris configuradas',
      'debe ser exactamente una de las redirect_uris configuradas',
    ],
    'must be none, add or widen': ['deve ser none, add ou widen', 'debe ser none, add o widen'],
    'must be append, replace or upsert': ['deve ser append, replace ou upsert', 'debe ser append, replace o upsert'],
    'is not a time zone that the database knows': [
      'não é um fuso horário que o banco de dados conheça',
      'no es una zona horaria que la base de datos conozca',
    ],
    'must be an IANA time zone such as America/Sao_Paulo': [
      'deve ser um fuso horário da IANA como America/Sao_Paulo',
      'debe ser una zona horaria de la IANA como America/Sao_Paulo',
    ],
    'must be a time zone of the IANA database, such as America/Sao_Paulo': [
      'deve ser um fuso horário da IANA, como America/Sao_Paulo',
      'debe ser una zona horaria de la IANA, como America/Sao_Paulo',
    ],
    'must be a tab or one of ! # $ % & * , / : ; < = > ? @ ^ _ ` | ~': [
      'deve ser uma tabulação ou um de ! # $ % & * , / : ; < = > ? @ ^ _ ` | ~',
      'debe ser un tabulador o uno de ! # $ % & * , / : ; < = > ? @ ^ _ ` | ~',
    ],
    'must be application/json, application/yaml or text/csv': [
      'deve ser application/json, application/yaml ou text/csv',
      'debe ser application/json, application/yaml o text/csv',
    ],
    'takes one of {units} in quotes': [
      'aceita um destes entre aspas: {units}',
      'admite uno de estos entre comillas: {units}',
    ],
    'unknown action "{action}"': ['ação desconhecida "{action}"', 'acción desconocida "{action}"'],
    '"{pattern}" fits no known action': [
      '"{pattern}" não corresponde a nenhuma ação conhecida',
      '"{pattern}" no corresponde a ninguna acción conocida',
    ],
    'must be active or paused': ['deve ser active ou paused', 'debe ser active o paused'],
  },
  taken: {
    'is reserved; choose another': ['está reservado; escolha outro', 'está reservado; elija otro'],
    'must be unique in the document': ['deve ser único no documento', 'debe ser único en el documento'],
    'is reserved: every table has it already': [
      'está reservado: toda tabela já o tem',
      'está reservado: todas las tablas ya lo tienen',
    ],
    'is used by another column': ['é usado por outra coluna', 'lo usa otra columna'],
    'is taken by another column': ['já é usado por outra coluna', 'ya lo usa otra columna'],
    'must hold each column once': ['deve ter cada coluna uma só vez', 'debe tener cada columna una sola vez'],
    'must name each column once': ['deve indicar cada coluna uma só vez', 'debe indicar cada columna una sola vez'],
    'is used by another one': ['é usado por outro', 'lo usa otro'],
    'has a policy already': ['já tem uma política', 'ya tiene una política'],
    'is granted already': ['já foi concedido', 'ya está concedido'],
    'is in the list already': ['já está na lista', 'ya está en la lista'],
    'is used twice': ['é usado duas vezes', 'se usa dos veces'],
    'appears in the document twice': ['aparece duas vezes no documento', 'aparece dos veces en el documento'],
    'is named twice': ['é indicado duas vezes', 'se indica dos veces'],
  },
  not_found: {
    'must be a column of the table that no other entry names: "{name}"': [
      'deve ser uma coluna da tabela que nenhum outro item indica: "{name}"',
      'debe ser una columna de la tabla que ningún otro elemento indica: "{name}"',
    ],
    'must be on the dashboard': ['deve estar no dashboard', 'debe estar en el dashboard'],
    'must be a user of the company': ['deve ser um usuário da empresa', 'debe ser un usuario de la empresa'],
    'must be a member of a share context that grants this, and lets the member see it with these parameters': [
      'deve ser membro de um contexto de compartilhamento que conceda isto e permita vê-lo com estes parâmetros',
      'debe ser miembro de un contexto compartido que conceda esto y permita verlo con estos parámetros',
    ],
    'is not the id of any {kind} of this company': [
      'não é o id de nenhum(a) {kind} desta empresa',
      'no es el id de ningún {kind} de esta empresa',
    ],
    'is not the key of a business domain of this company': [
      'não é a chave de um domínio de negócio desta empresa',
      'no es la clave de un dominio de negocio de esta empresa',
    ],
    'must be the id of a connection of this company that has tables': [
      'deve ser o id de uma conexão desta empresa que tenha tabelas',
      'debe ser el id de una conexión de esta empresa que tenga tablas',
    ],
    'concept "{name}" does not exist': ['o conceito "{name}" não existe', 'el concepto "{name}" no existe'],
    'metric "{name}" does not exist': ['a métrica "{name}" não existe', 'la métrica "{name}" no existe'],
    'entity "{name}" does not exist': ['a entidade "{name}" não existe', 'la entidad "{name}" no existe'],
    'node "{name}" does not exist': ['o nó "{name}" não existe', 'el nodo "{name}" no existe'],
    'names a dataset that does not exist': [
      'indica um conjunto de dados que não existe',
      'indica un conjunto de datos que no existe',
    ],
    'must be a metric or dimension of the query': [
      'deve ser uma métrica ou dimensão da consulta',
      'debe ser una métrica o dimensión de la consulta',
    ],
    'uses {place}, which is not among the parameters': [
      'usa {place}, que não está entre os parâmetros',
      'usa {place}, que no está entre los parámetros',
    ],
  },
  conflict: {
    'is changed by {route}': ['é alterado por {route}', 'se cambia con {route}'],
    'cannot be changed': ['não pode ser alterado', 'no se puede cambiar'],
    'cannot be used with a form: send the request without it': [
      'não pode ser usado com um formulário: envie a requisição sem ele',
      'no se puede usar con un formulario: envíe la solicitud sin él',
    ],
    'is the same as {other}: send one of them': [
      'é o mesmo que {other}: envie apenas um deles',
      'es lo mismo que {other}: envíe solo uno de ellos',
    ],
    'holds all the other arguments: send none of them beside it': [
      'contém todos os outros argumentos: não envie nenhum deles junto',
      'contiene todos los demás argumentos: no envíe ninguno de ellos aparte',
    ],
    'send either totp_token or backup_code': ['envie totp_token ou backup_code', 'envíe totp_token o backup_code'],
    'send one of password, totp_token and backup_code': [
      'envie um de password, totp_token e backup_code',
      'envíe uno de password, totp_token y backup_code',
    ],
    'must be true; to take the default away, make another account the default': [
      'deve ser true; para tirar o padrão, torne outra conta a padrão',
      'debe ser true; para quitarle el valor predeterminado, haga predeterminada otra cuenta',
    ],
    'must be the account that the service account belongs to': [
      'deve ser a conta à qual a conta de serviço pertence',
      'debe ser la cuenta a la que pertenece la cuenta de servicio',
    ],
    'cannot be true for an issuer of more than one organization: its people could claim any address': [
      'não pode ser true para um emissor de mais de uma organização: suas pessoas poderiam alegar qualquer endereço',
      'no puede ser true para un emisor de más de una organización: sus personas podrían reclamar cualquier dirección',
    ],
    'does not go with "{name}", which is of type {type}': [
      'não serve para "{name}", que é do tipo {type}',
      'no sirve para "{name}", que es de tipo {type}',
    ],
    'cannot be combined with cursor': ['não pode ser combinado com cursor', 'no se puede combinar con cursor'],
    'must be the next_cursor of a page of this table, with the same filters, search and sort_by': [
      'deve ser o next_cursor de uma página desta tabela, com os mesmos filtros, busca e sort_by',
      'debe ser el next_cursor de una página de esta tabla, con los mismos filtros, búsqueda y sort_by',
    ],
    'is set by the database and cannot be changed': [
      'é definido pelo banco de dados e não pode ser alterado',
      'lo fija la base de datos y no se puede cambiar',
    ],
    'is for an existing table': ['é para uma tabela existente', 'es para una tabla existente'],
    'is for the mode upsert': ['é para o modo upsert', 'es para el modo upsert'],
    'is for text files, and these are workbooks': [
      'é para arquivos de texto, e estes são planilhas',
      'es para archivos de texto, y estos son hojas de cálculo',
    ],
    'is for text files and workbooks, and these are neither': [
      'é para arquivos de texto e planilhas, e estes não são nenhum dos dois',
      'es para archivos de texto y hojas de cálculo, y estos no son ni lo uno ni lo otro',
    ],
    'is for workbooks with named sheets, and these files have none': [
      'é para planilhas com abas nomeadas, e estes arquivos não têm nenhuma',
      'es para hojas de cálculo con pestañas con nombre, y estos archivos no tienen ninguna',
    ],
    'is {type} in the table, and {wider} as proposed': [
      'é {type} na tabela, e {wider} na proposta',
      'es {type} en la tabla, y {wider} en la propuesta',
    ],
    'must be true for a new column': ['deve ser true em uma coluna nova', 'debe ser true en una columna nueva'],
    'is {type} in the table': ['é {type} na tabela', 'es {type} en la tabla'],
    'must only hold visualizations that are on the layout': [
      'só pode ter visualizações que estão no layout',
      'solo puede tener visualizaciones que están en el layout',
    ],
    'must be {kind}, the kind of the parameter in {where}': [
      'deve ser {kind}, o tipo do parâmetro em {where}',
      'debe ser {kind}, el tipo del parámetro en {where}',
    ],
    'must be {kind}, the kind of the filter': [
      'deve ser {kind}, o tipo do filtro',
      'debe ser {kind}, el tipo del filtro',
    ],
    'must be a {kind}: the filter with this name is of another kind': [
      'deve ser um {kind}: o filtro com este nome é de outro tipo',
      'debe ser un {kind}: el filtro con este nombre es de otro tipo',
    ],
    'cannot be multi_select: = ANY({{…}}) is not used for the parameter in {where}': [
      'não pode ser multi_select: = ANY({{…}}) não é usado para o parâmetro em {where}',
      'no puede ser multi_select: = ANY({{…}}) no se usa para el parámetro en {where}',
    ],
    'has a parameter named "format", a name that the Data API needs for the format of the answer': [
      'tem um parâmetro chamado "format", nome de que a Data API precisa para o formato da resposta',
      'tiene un parámetro llamado "format", nombre que la Data API necesita para el formato de la respuesta',
    ],
    'must not include one named "format" while a Data API endpoint publishes the visualization': [
      'não pode incluir um chamado "format" enquanto um endpoint da Data API publica a visualização',
      'no puede incluir uno llamado "format" mientras un endpoint de la Data API publica la visualización',
    ],
    'is only accepted with format': ['só é aceito com format', 'solo se acepta con format'],
    'must not end before it begins': ['não pode terminar antes de começar', 'no puede terminar antes de empezar'],
    'cannot be hidden: the filter is required': [
      'não pode ser ocultado: o filtro é obrigatório',
      'no se puede ocultar: el filtro es obligatorio',
    ],
    'is always set from an attribute of the viewer': [
      'é sempre definido por um atributo do espectador',
      'siempre lo fija un atributo del espectador',
    ],
    'is fixed already': ['já é fixo', 'ya es fijo'],
    'must be a filter of kind select or multi_select': [
      'deve ser um filtro do tipo select ou multi_select',
      'debe ser un filtro de tipo select o multi_select',
    ],
    'cannot be sent together with {other}: send only one of them': [
      'não pode ser enviado junto com {other}: envie apenas um deles',
      'no se puede enviar junto con {other}: envíe solo uno de ellos',
    ],
    'must be the visualization that the token shows': [
      'deve ser a visualização que o token mostra',
      'debe ser la visualización que el token muestra',
    ],
    'must hold exactly one of user_id and email': [
      'deve ter exatamente um de user_id e email',
      'debe tener exactamente uno de user_id y email',
    ],
    'is a member of a share context that does not allow these parameters': [
      'é membro de um contexto de compartilhamento que não permite estes parâmetros',
      'es miembro de un contexto compartido que no permite estos parámetros',
    ],
    'must be the visualization that is sent': [
      'deve ser a visualização que é enviada',
      'debe ser la visualización que se envía',
    ],
    'must be null or left out with changed': [
      'deve ser null ou omitido com changed',
      'debe ser null u omitirse con changed',
    ],
    'must not be after `to`': ['não pode ser depois de `to`', 'no puede ser posterior a `to`'],
    'is part of a circle of references, or refers to one': [
      'faz parte de um círculo de referências ou se refere a um',
      'forma parte de un círculo de referencias o se refiere a uno',
    ],
    'cannot be used with this dimension': [
      'não pode ser usado com esta dimensão',
      'no se puede usar con esta dimensión',
    ],
    'would make a cycle': ['formaria um ciclo', 'formaría un ciclo'],
    '"{column}" is null in some rows': [
      '"{column}" está vazia em algumas linhas',
      '"{column}" está vacía en algunas filas',
    ],
    '"{column}" would be null in the existing rows': [
      '"{column}" ficaria vazia nas linhas existentes',
      '"{column}" quedaría vacía en las filas existentes',
    ],
    '"{column}" holds a value that cannot become {type} without loss': [
      '"{column}" tem um valor que não pode virar {type} sem perda',
      '"{column}" tiene un valor que no puede convertirse en {type} sin pérdida',
    ],
    '"{column}" holds {value}, which cannot become {type} without loss': [
      '"{column}" tem {value}, que não pode virar {type} sem perda',
      '"{column}" tiene {value}, que no puede convertirse en {type} sin pérdida',
    ],
    '"{column}" has a unique index, and as {type} several rows would have the same value: {value}': [
      '"{column}" tem um índice único, e como {type} várias linhas teriam o mesmo valor: {value}',
      '"{column}" tiene un índice único, y como {type} varias filas tendrían el mismo valor: {value}',
    ],
    '"{column}" has a unique index, and as {type} several rows would have the same value': [
      '"{column}" tem um índice único, e como {type} várias linhas teriam o mesmo valor',
      '"{column}" tiene un índice único, y como {type} varias filas tendrían el mismo valor',
    ],
    'several rows have the same "{columns}": {value}': [
      'várias linhas têm o mesmo "{columns}": {value}',
      'varias filas tienen el mismo "{columns}": {value}',
    ],
    'several rows have the same "{columns}"': [
      'várias linhas têm o mesmo "{columns}"',
      'varias filas tienen el mismo "{columns}"',
    ],
    '"id" identifies rows by itself: leave out the other columns': [
      '"id" identifica as linhas sozinho: omita as outras colunas',
      '"id" identifica las filas por sí solo: omita las demás columnas',
    ],
    '{colour} on the background {background} has a contrast of {shown}; WCAG AA asks for {least}': [
      '{colour} sobre o fundo {background} tem contraste de {shown}; a WCAG AA pede {least}',
      '{colour} sobre el fondo {background} tiene un contraste de {shown}; la WCAG AA pide {least}',
    ],
    'uses {place}, which is a date range: use {from} and {to}': [
      'usa {place}, que é um intervalo de datas: use {from} e {to}',
      'usa {place}, que es un rango de fechas: use {from} y {to}',
    ],
    'uses {place}, but {slug} is not a date range': [
      'usa {place}, mas {slug} não é um intervalo de datas',
      'usa {place}, pero {slug} no es un rango de fechas',
    ],
    '{problem}: "{name}" is of type {type}': [
      '{problem}: "{name}" é do tipo {type}',
      '{problem}: "{name}" es de tipo {type}',
    ],
    'are only allowed for filters of kind select or multi_select': [
      'só são permitidos para filtros do tipo select ou multi_select',
      'solo se permiten para filtros de tipo select o multi_select',
    ],
  },
} satisfies Record<string, Translations>;

export type FieldReason = keyof typeof FIELD_SENTENCES;

/** The machine-readable reasons why the value of a field is rejected. */
export const FIELD_REASONS = Object.keys(FIELD_SENTENCES) as FieldReason[];
