import sys
def flat(v, p):
    if isinstance(v, dict):
        for k, w in v.items(): flat(w, f'{p}/{k}' if p else str(k))
    elif isinstance(v, str): print(f'{p}\t{v}')
for f in sys.argv[1:]:
    names = {}
    exec(compile(open(f, encoding='utf-8', newline='').read(), f, 'exec'), names)
    del names['__builtins__']
    flat(names, ''); print('--')
