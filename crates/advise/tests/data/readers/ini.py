import sys, configparser
for f in sys.argv[1:]:
    c = configparser.ConfigParser() if f.endswith('alembic.ini') else configparser.RawConfigParser()
    c.read(f, encoding='utf-8')
    for s in c.sections():
        for k, v in c.items(s): print(f'{s}/{k}\t{v}')
    print('--')
