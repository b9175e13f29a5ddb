"""Secrets in a command line are masked by the name before them or by their form, and nothing else is masked."""

import itertools
import json
import os
import re
import shlex
import subprocess
import sys
import time
import urllib.parse

import pytest

from beyond_ram import mask_secrets

MASKED = {
    "--password=hunter2": "--password=***",
    "--password hunter2": "--password ***",
    "-password hunter2 x": "-password *** x",
    "--db-password hunter2 --rows 5": "--db-password *** --rows 5",
    "--hf_token=hf_a": "--hf_token=***",
    "env HF_TOKEN=hf_a python x.py": "env HF_TOKEN=*** python x.py",
    "AWS_SECRET_ACCESS_KEY=a/b+c= run": "AWS_SECRET_ACCESS_KEY=*** run",
    "--api-key a --apikey b --API_KEY=c": "--api-key *** --apikey *** --API_KEY=***",
    "--client.secret=a": "--client.secret=***",
    "git clone https://me:hunter2@host/x": "git clone https://***@host/x",
    "s3://hf_a@bucket": "s3://***@bucket",
    "--tokenizer gpt2 --max-tokens 5": "--tokenizer gpt2 --max-tokens 5",
    "--password-file /x --token-count=5": "--password-file /x --token-count=5",
    "--password --rows 5": "--password *** 5",
    "oras login -p a": "oras login -p ***",
    "dotnet nuget push x -k a": "dotnet nuget push x -k ***",
    "hatch publish -a a": "hatch publish -a ***",
    "--password= hunter2 TOKEN= python x.py": "--password= *** TOKEN= python x.py",
    "--password-command hunter2 --token-cmd=hunter2": "--password-command *** --token-cmd=***",
    "user@host:x a@b tokenize token": "user@host:x a@b tokenize token",
    "clone https://ghp_a1B2a1B2a1B2a1B2a1B2@host/x": "clone https://***@host/x",
    "--passWord hunter2 --pass-word=hunter2": "--passWord *** --pass-word=***",
    "//me:hunter2@host/x --login=me:hunter2": "//***@host/x --login=***",
    "-uredis://me:hunter2@host -xhttp://me:hunter2@host:80": "-uredis://***@host -xhttp://***@host:80",
    "mysql -uroot -ABphunter2 x": "mysql -uroot -ABp*** x",
    "python -mtwine upload -p hunter2 x": "python -mtwine upload -p *** x",
    "zip -rP hunter2 a": "zip -rP *** a",
    "pAsSwOrD=hunter2 PASSword=hunter2 TOKENs=hunter2": "pAsSwOrD=*** PASSword=*** TOKENs=***",
    "x --csrf=hunter2 --\uff50assword=hunter2": "x --csrf=*** --\uff50assword=***",
    "MOT_DE_PASSE=hunter2 KENNWORT=hunter2": "MOT_DE_PASSE=*** KENNWORT=***",
    "aws ssm x --type SecureString --value hunter2": "aws ssm x --type SecureString --value ***",
    "tool -tghp_a1B2a1B2a1B2a1B2a1B2 -xkAKIAABCDEFGHIJKLMNOP": "tool -t*** -xk***",
    "ldapsearch -xw hunter2 x": "ldapsearch -xw *** x",
    "GITHUBPAT=hunter2 STRIPE_SK=hunter2 /p:hunter2": "GITHUBPAT=*** STRIPE_SK=*** /p:***",
    "%7B%22password%22%3A%22hunter2%22%7D https://h/?q=%26token%3Dhunter2": "*** ***",
    "https://h/a%20b?x=%22y%22 /a/p:b a//b:c@d": "https://h/a%20b?x=%22y%22 /a/p:b a//b:c@d",
}


@pytest.mark.parametrize("line", MASKED)
def test_values_with_secret_names_are_masked(line):
    assert mask_secrets.in_command(line.split(" ")) == MASKED[line].split(" ")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x --password hunter2 --rows 5\nrows: 5", "x --password ***\nrows: 5"),
        ("clone https://me:hunter2@host/x failed", "clone https://***@host/x failed"),
        ("https:/me:hunter2@host/x: no such file", "https:/***@host/x: no such file"),
        ("API key: hunter2\nrows = 5", "API key: ***\nrows = 5"),
        ("Enter PEM pass phrase: hunter2", "Enter PEM pass phrase: ***"),
        ('{"access key": "hunter2"}', '{"access key": ***'),
        ("primary key: id, sort key = name", "primary key: id, sort key = name"),
        ("login(token='hunter2')\nrows = 5", "login(***\nrows = 5"),
        ("os.environ['DB_PASSWORD'] = 'a hunter2'\nrows = 5", "os.environ['DB_PASSWORD'] = ***\nrows = 5"),
        ("token = [\n'hunter2',\n]", "token = ***"),
        ("x --token \\\n hunter2", "x --token ***"),
        ("KeyError: 'HF_TOKEN'", "KeyError: 'HF_TOKEN'"),
    ],
)
def test_text_is_hidden_to_the_end_of_its_line_or_of_what_is_open(text, shown):
    assert mask_secrets.in_text(text) == shown
    assert mask_secrets.in_text(shown) == shown


def test_word_that_is_code_is_hidden_whole_behind_its_option():
    words = ["sbatch", "--wrap=curl -u me:hunter2 x", "sh", "-c", "x --token hunter2 --rows 5", "--rows", "5"]
    assert mask_secrets.in_command(words) == ["sbatch", "--wrap=***", "sh", "-c", "***", "--rows", "5"]


def test_long_words_are_masked_quickly():
    begun = time.process_time()
    for part in (
        *("a-", "a_", "--", "a.", "a=", "x", "a:", "$(", "token='", "['a', ", "http://a:", '"$(\\', "' ", "token=a( "),
        *("token=('", "token:\n "),
    ):
        mask_secrets.in_command(["x", part * (25_000 // len(part)) + "token"])
    assert time.process_time() - begun < 4


NAMES = ["password", "HF_TOKEN", "HFTOKEN", "authToken", "clientSecret", "myApiKey", "MYPWD", "secret-key", "db.passwd",
         "AWS_SECRET_ACCESS_KEY", "access_tokens", "sshPassphrase", "GITHUB_PAT", "WANDB_KEY", "smtp-pass"]  # fmt: skip
VALUES = [
    "{}",
    "a b {}",
    "-{}",
    "--rows={}",
    "a'{}",
    'a"{}',
    "\n{}",
    "a\\{}",
    "$(echo {})",
    "a;{}",
    "a/{}@b",
    "it's a \"{}",
]
SYNTAXES = [
    lambda name, value: [f"--{name}={value}"],
    lambda name, value: [f"-{name}", value],
    lambda name, value: [f"--{name}", "=", value],
    lambda name, value: ["env", f"{name}={value}", "python"],
    lambda name, value: ["srun", f"--export=ALL,{name}={value}"],
    lambda name, value: ["x", "--set", f"auth.{name}={value}"],
    lambda name, value: ["java", f"-D{name}={value}"],
    lambda name, value: ["curl", "-H", f"{name}: {value}"],
    lambda name, value: ["curl", f"-H{name}:{value}"],
    lambda name, value: ["curl", "-d", json.dumps({"rows": 5, name: value, "b": [1]})],
    lambda name, value: ["x", f"https://host/a?rows=5&{name}={urllib.parse.quote(value, safe='')}&b=1"],
    lambda name, value: ["python", "-c", f"import os; os.environ[{name!r}] = {value!r}"],
    lambda name, value: ["python", "-c", f"login(rows=5, {name.replace('-', '_')}={value!r})"],
    lambda name, value: ["x", str(["--rows", "5", f"--{name}", value])],
]
QUOTINGS = [
    shlex.quote,
    lambda value: '"' + re.sub(r"([\"\\$`])", r"\\\1", value) + '"',
    lambda value: re.sub(r"([^\w\n])", r"\\\1", value).replace("\n", "'\n'"),
    lambda value: "$'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'",
    lambda value: f"'a'{shlex.quote(value)}",
    lambda value: f'"$(printf %s {shlex.quote(value)})"',
]
TEXTS = [
    "x --{name} {value} --rows 5",
    "export {name}={value}; x",
    "cd /tmp && x --'{name}'={value} | cat",
    "x \\\n  --{name} \\\n  {value}",
    '(x "--{name}" {value}) # it\'s a comment',
]
SHELLS = [
    lambda text: ["sh", "-c", text],
    lambda text: ["bash", "-lc", f"set -e\n{text}\n"],
    lambda text: ["sbatch", f"--wrap={text}"],
    lambda text: ["srun", "sudo", "env", "A=1", "bash", "-c", text],
    lambda text: ["ssh", "host", f"bash -c {shlex.quote(text)}"],
]
FORMS = [
    ["postgres://u:a'{}@h/db"], ["postgres://u:a\"{}@h/db"], ["postgres://u:a {}@h/db"], ["postgres://u:a/{}@h/db"],
    ["postgres://u:a@{}@h/db"], ["https://{}@h/x"], ["x", "a:{}@proxy:3128"], ["curl", "-sSu", "me:{}", "h"],
    ["curl", "-ume:{}"], ["curl", "--user", "me:{}"], ["mysql", "-p{}"], ["sshpass", "-p", "{}", "ssh", "h"],
    ["docker", "login", "-p", "{}"], ["curl", "-H", "Authorization: token {}"], ["curl", "-H", "Authorization: {}"],
    ["Authorization:", "Bearer", "{}"], ["sh", "-c", "curl -H \"Authorization: Bearer '{}'\""],
    ["openssl", "-pass", "pass:{}"], ["curl", "-H", "Cookie: a=b; c={}"], ["x", "Server=h;Password={};Database=y"],
    ["aws", "configure", "set", "aws_secret_access_key", "{}"], ["wandb", "login", "{}"],
    ["bash", "-c", "echo {} | docker login --password-stdin"], ["bash", "-c", "x ${TOKEN:-{}}"],
    ["bash", "-c", "cat <<EOF > f\npassword: it's {}\nEOF\nx"], ["bash", "-c", "x 'never closed --password {}"],
    ["x", "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----"],
    ["https://hooks.slack.com/services/T0/B0/{}"],
    ["sbatch", "--wrap=curl -u u:{} x"], ["x", "--command=mysql -p{}"],
    ["docker", "run", "--entrypoint=curl -u u:{} x"],
    ["bash", "-cmysql -p{}"], ["sh", "-c", "app --token >/dev/null {}"], ["sh", "-c", "app --token 2>&1 {}"],
    ["sh", "-c", "app --token <(echo {})"], ["x", '{"rows": 5, "secret": {"value": "{}"}}'],
    ["x", '{"rows":5,"password":["a","{}"]}'], ["python", "-c", "token = os.environ.get('T', f('a'), '{}')"],
    ["python", "-c", "token=get('T').replace('a', '{}')"], ["vllm", "serve", "m", "--api-key", "a", "{}", "{}"],
    ["curl", "https://h/x?token[]={}&b=1"], ["curl", "https://h/x?%74oken={}&b=1"], ["x", "TOKENS={}"],
    ["curl", "--cert", "c.pem:{}", "h"], ["curl", "-E", "c.pem:{}", "h"], ["twine", "upload", "-p", "{}"],
    ["uv", "publish", "-t", "{}"], ["cqlsh", "-p", "{}"], ["gh", "secret", "set", "X", "-b{}"],
    ["htpasswd", "-cb", "f", "u", "{}"], ["kubectl", "create", "secret", "generic", "x", "--from-literal=a={}"],
    ["mc", "alias", "set", "n", "https://h", "AK", "{}"], ["mpirun", "-genv", "HF_TOKEN", "{}"],
    ["psql", "-c", "ALTER USER u IDENTIFIED BY '{}'"],
    *(["x", f"{prefix}{{}}AbCd0123456789012345"] for prefix in
      ("hf_", "ghp_", "GOCSPX-", "github_pat_", "glpat-", "sk-", "sk-proj-", "xoxb-", "eyJhbGciOiJIUzI1NiJ9.")),
]  # fmt: skip
PLANTED = "S3cr3tV4lue"
LINES = [
    """openai -k {} a""", """cypher-shell -u me -p {}""", """tsql -U sa -P {}""", """vsql -w {}""", """gsql -p {}""",
    """gem push -k {}""", """yt-dlp -u a -p {}""", """ccrypt -K {}""", """anaconda -t {}""", """nxc smb h -p {}""",
    """yt-dlp --twofactor {}""", """x --passwort {}""", """x --contrasena={}""", """openssl dgst -hmac {}""",
    """mongoimport -p {}""", """mysqlslap -p{}""", """mysqlpump -p{}""", """ldapmodify -w {}""", """ldappasswd -w {}""",
    """rabbitmqadmin -u kim -p {}""", """mssql-cli -U kim -P {}""", """couchbase-cli x -u kim -p {}""",
    """flyctl -t {}""", """vercel -t {}""", """lftp -e 'open -u kim,{} sftp://h'""", """redis-cli -h h AUTH {}""",
    """x --dsn oracle://kim/{}@h""",
    """valkey-cli -a {}""", """redis-benchmark -a {}""", """xh -a u:{} h""", """mycli -p {}""", """beeline -p {}""",
    """airflow users create -u admin -p {}""", """synapse -u me -p {} get x""", """llm keys set openai --value {}""",
    """aws ssm put-parameter --name /prod/db/password --type SecureString --value {}""",
    """influx -t {}""", """ssh-keygen -N {}""", """ssh-keygen -P {}""", """redis-server --requirepass {}""",
    """redis-server --masterauth {}""", """smbclient --user=b%{}""", """hey -a u:{} h""", """ab -A u:{} h""",
    """x --cookies {}""", """x --sas {}""", """x --psk {}""", """x --session-id {}""", """curl h?session={}""",
    """curl h?sid={}""", """x --pin {}""", """x --application-key {}""", """x --decrypt-key {}""", """x userpw={}""",
    """x rootpw={}""", """x bindpw={}""", """x --openAIKey {}""", """curl -H X-Functions-Key:{}""",
    """mvn -Dsonar.login={}""", """sqlplus u/{}@h""", """x jdbc:oracle:thin:u/{}@h""", """x https://h/bot123:{}/a""",
    """x https://h/t/{}/a""", """x --token-secret {}""", """x TOKEN_GITHUB={}""", """x POETRY_PYPI_TOKEN_PYPI={}""",
    """x SLACK_TOKEN_BOT={}""", """x TOKEN_B64={}""", """x MODAL_TOKEN_SECRET={}""", """gh secret set X --body={}""",
    """dvc remote modify --local r secret_access_key {}""", """wandb login --relogin {}""",
    """/usr/bin/wandb login {}""", """aws cloudformation ParameterKey=DBPassword,ParameterValue={}""",
    """npm config set //registry/:_authToken {}""", """poetry config http-basic.x u {}""", """influx -token {}""",
    """vault kv put secret/x k={}""", """mc config host add n h AK {}""", """useradd -p {} u""",
    """mysql.exe -u u -p{}""", """rar a -hp{}""", """rpcclient -U u%{}""", """hf login {}""", """make TOKEN?={}""",
    """pulumi config set --secret dbPassword {}""", """curl --user=me:{} h""", """poetry config pypi-token.pypi {}""",
]  # fmt: skip
TEXTS_IN_WORDS = [
    """["--token","{}"]""", """{"args":["--token","{}"]}""", """["--password", "{}", "--api-key=x"]""",
    """{"env": [{"name": "HF_TOKEN", "value": "{}"}]}""", """environment=[{name=HF_TOKEN,value={}}]""",
    """- name: HF_TOKEN\n  value: {}""", """{"password": 839201557{}, "a": 1}""",
    """f({'token': os.getenv('A') or '{}'})""", """printf 'A=1\\nHF_TOKEN={}\\n' > .env""",
    r"""echo -e "A=1\ntoken: {}\"""", """os.environ['DB_PASSWORD']='correct {}'""", """$ENV{TOKEN}={}""",
    """token = [\n'{}',\n]""", """HfFolder.save_token('{}')""", """c.set_password('{}')""",
    """keyring.set_password('a','b','{}')""", """c.authenticate('u', '{}')""", """read token <<< {}""",
    """<entry key="db.password">{}</entry>""", """params: [{key: token, val: {}}]""", """{'password'\n: '{}'}""",
    """SET PASSWORD FOR 'b'@'h' = PASSWORD('{}')""",
    """CREATE SECRET s (SECRET '{}')""", """<password>{}</password>""", """token <- '{}'""",
    """spark.conf.set('password', '{}')""", """alias m='mysql -p{}'""", """mysql -p'{}'""",
    """gh secret set X --body='{}'""", """curl -u me:{} h""", """export HF_TOKEN={}; x""",
]  # fmt: skip
# Hidden in a command only: the name follows, or is taken apart.
ONLY_IN_WORDS = [
    """[{"value": "{}", "name": "HF_TOKEN"}]""", """x --tok"en" {}""", """x --pass\\word={}""",
    r"""x '{"\u0074oken": "{}"}'""", r"""x A=$'\x74oken={}'""", """echo {} | sudo -S x""", """cat token {}""",
]  # fmt: skip
FORMS += [
    *(line.split(" ") for line in LINES),
    *(["sh", "-c", text] for text in TEXTS_IN_WORDS),
    *(["x", f"--option={text}"] for text in TEXTS_IN_WORDS),
    *(["x", f"{prefix}{{}}0123456789abcdef"] for prefix in
      ("shpat_", "lin_api_", "tskey-", "AGE-SECRET-KEY-", "wandb_v1_")),
]  # fmt: skip


def ways():
    """Commands with a secret."""
    for name, value, syntax in itertools.product(NAMES, VALUES, SYNTAXES):
        yield syntax(name, value.format(PLANTED))
    for number, (value, quoting, text, shell) in enumerate(itertools.product(VALUES, QUOTINGS, TEXTS, SHELLS)):
        name = NAMES[number % len(NAMES)]
        yield shell(text.format(name=name, value=quoting(value.format(PLANTED))))
    for words in FORMS:
        yield [word.replace("{}", PLANTED) for word in words]


def test_no_way_to_pass_a_secret_leaves_it():
    commands = [*ways(), *(["sh", "-c", line.replace("{}", PLANTED)] for line in LINES)]
    assert len(commands) > 200
    leaks = [words for words in commands if PLANTED in "\n".join(mask_secrets.in_command(words))]
    assert not leaks, f"{len(leaks)} of {len(commands)}: {leaks[:5]}"


@pytest.mark.parametrize("text", [*TEXTS_IN_WORDS, *ONLY_IN_WORDS])
def test_code_that_mentions_a_secret_is_hidden_whole(text):
    text = text.replace("{}", PLANTED)
    assert mask_secrets.in_command(["sh", "-c", text, "--rows", "5"]) == ["sh", "-c", "***", "--rows", "5"]
    assert mask_secrets.in_command(["sh", f"--wrap={text}"]) == ["sh", "--wrap=***"]


@pytest.mark.parametrize("text", TEXTS_IN_WORDS)
def test_text_with_a_secret_does_not_show_it(text):
    text = text.replace("{}", PLANTED)
    assert PLANTED not in mask_secrets.in_text(f"error in {text}")
    assert PLANTED not in mask_secrets.in_text(f"rows: 5\n{text}\nrows: 5")


@pytest.mark.parametrize(
    "text",
    [
        "password: |\n  a\n  {}\nrows: 5",
        "a:\n  password:\n    {}\nrows: 5",
        "secret:\n  value: {}\nrows: 5",
        "passwords:\n- a\n- {}\nrows: 5",
        'api_keys: ["a",\n "{}"]\nrows: 5',
        '{"secret": {\n "value": "{}"\n},\n"rows: 5": 1}',
        '"token":\n "{}",\n"rows: 5": 1',
        "token = get(\n  'T', '{}')\n'rows: 5'",
    ],
)
def test_value_below_its_name_is_hidden(text):
    shown = mask_secrets.in_text(f"rows: 4\n{text.replace('{}', PLANTED)}")
    assert PLANTED not in shown and shown.startswith("rows: 4\n")


def test_messages_with_commands_hide_the_same():
    forms = ([word.replace("{}", PLANTED) for word in words] for words in FORMS)
    for words in itertools.chain(itertools.islice(ways(), 0, None, 5), forms):
        shown = mask_secrets.in_text(f"CalledProcessError: Command {words} returned non-zero exit status 1.")
        assert PLANTED not in shown


@pytest.mark.parametrize(
    "line",
    [
        "python train.py --tokenizer gpt2 --tokens 5 --num-tokens 6 --max_tokens 7 --token-ids 1,2 --n-token 4",
        "python x.py --pad-token <pad> --eos_token </s> --mask-token m --tokenizer.bos_token=<s> --token-dropout 0.1",
        "x --keyboard k --author me --monkey m --passes 3 --passthrough y --compass n --bypass 1 --hotkey F1 --path p",
        "x --password-file /x --token-limit=4 --sort-key a --text_key=text --key id --partition-keys a,b --n-pass 2",
        "pip install git+https://github.com/a/b@main https://host:8080/a/b.whl torch==2.1",
        "apptainer exec --pwd /srv --bind /a:/b image.sif python x.py",
        "docker run --user 1000:1000 -p 8080:80 -v /run/secrets:/run/secrets repo/img:tag@sha256:abc",
        "env PWD=/x OMP_NUM_THREADS=4 PYTHONPATH=a:b python -c print(1)",
        "python x.py --auth-type none --level basic --rows 5",
        "python x.py --placeholder_token x --initializer_token toy --csv-img-key filepath --csv-caption-key title",
        "aws ssm put-parameter --name /prod/size --value 5",
        "python x.py --max-tokens 5 --key-column text --pad-token x --num-key-value-heads 8 --pin-memory",
        "python x.py --session-length 3 --use_auth_token False --use_auth_token True --tokenizer gpt2",
        "python x.py --task token-classification --target_modules query_key_value --group-by-key k --token-type-ids a",
        "curl -sSL -o out.tar https://host/x?download=true&rows=5 -H Accept:text/plain",
        "mysql -u me -h host db -P 3306 --secure-transport",
        "python x.py --use_auth_token --trust-remote-code --img_token 3",
        "kubectl create secret generic x",
    ],
)
def test_ordinary_commands_stay_readable(line):
    assert mask_secrets.in_command(line.split()) == line.split()
    assert mask_secrets.in_text(line) == line


def test_quoted_text_is_kept_where_nothing_is_secret():
    text = "for i in 1 2; do python x.py --prompt \"it's $i of $(nproc)\" --out '/a b'/$i; done > log 2>&1 # don't"
    assert mask_secrets.in_command(["bash", "-c", text]) == ["bash", "-c", text]
    assert mask_secrets.in_text(f"bash: {text}") == f"bash: {text}"
    assert mask_secrets.in_text("if token:\n    run()\n") == "if token:\n    run()\n"
    for text in (
        "tokenizer has no pad token",
        "ValueError: Asking to pad but the tokenizer does not have a padding token: set tokenizer.pad_token = '[PAD]'",
        "Token indices sequence length is longer than 512; keys: ['a'], max_tokens=5, pad_token_id: 0",
        "KeyError: 'token' at position 3 of the next token: 5",
        "torch: Missing key(s) in state_dict; unexpected_keys=['a'], token_type_ids=[1], sort_key='a'",
        "json.decoder: unexpected token '}' at 5; f(token=None, password=None)",
        "No matching distribution found for tiktoken==0.5.1 and google-auth==2.1",
        "ModuleNotFoundError: No module named 'secretstorage'",
        "gate passed, basic tests: 5; author: me; compass: n",
    ):
        assert mask_secrets.in_text(text) == text
    for text in (
        "from transformers import AutoTokenizer; print(AutoTokenizer.from_pretrained('gpt2').tokenize('a'))",
        '{"max_tokens": 5, "pad_token": "x", "num_key_value_heads": 8, "tokenizer": "gpt2"}',
        "import os; sorted(os.listdir('.'), key=len); max_new_tokens = 5; tokens = [1, 2]",
        "try:\n    f()\nexcept ValueError:\n    pass\n",
        "the next token, and the token count",
        "cat /etc/passwd /run/secrets/x",
        "cd $(pwd) && curl -sSL -o a b | sort -u c",
    ):
        assert mask_secrets.in_command(["x", text]) == ["x", text]
    for text in ("x > log 2>&1 && diff <(a) <(b) 2>/dev/null", "sbatch --wrap='x --rows 5' --mem=4G | tee log"):
        assert mask_secrets.in_text(text) == text


def test_no_way_to_pass_a_secret_leaves_it_in_the_files_and_the_page(tmp_path):
    commands = [*itertools.islice(ways(), 0, None, 20), *FORMS]
    command = ["true", *(word.replace("{}", PLANTED) for words in commands for word in words)]
    options = ["--out", str(tmp_path / "out"), "--html", str(tmp_path / "page.html")]
    words = [sys.executable, "-m", "beyond_ram", "watch", *options, "--", *command]
    environment = os.environ | {"HF_TOKEN": PLANTED, "MY_PASSWORD": PLANTED}
    done = subprocess.run(words, env=environment, capture_output=True, check=False)
    assert (len(commands) > 200, done.returncode) == (True, 0)
    stored = {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {"run.json", "page.html"} <= set(stored)
    assert not [name for name, content in stored.items() if PLANTED.encode() in content]
    assert PLANTED.encode() not in done.stdout + done.stderr


def test_name_of_a_phase_has_no_secret_in_any_file(tmp_path):
    program = "import os, time; open(os.environ['BEYOND_RAM_EVENTS'], 'a').write(os.environ['LINE']); time.sleep(.3)"
    line = f'phase load token={PLANTED}\n{{"monotonic_s": 0, "event": "phase", "phase": "--pin {PLANTED}"}}\n'
    options = ["--out", str(tmp_path / "out"), "--html", str(tmp_path / "page.html")]
    words = [sys.executable, "-m", "beyond_ram", "watch", *options, "--", sys.executable, "-c", program]
    done = subprocess.run(words, env=os.environ | {"LINE": line}, capture_output=True, check=True)
    stored = {path.name: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert not [name for name, text in stored.items() if PLANTED in text]
    assert PLANTED.encode() not in done.stderr
    for name in ("load token=***", "--pin ***"):
        assert all(name in stored[file] for file in ("samples.csv", "events.jsonl", "run.json"))
