"""
Django settings for the project greetings.
"""
import os

SECRET_KEY = 'not-a-secret'
DEBUG = False
ALLOWED_HOSTS = ['127.0.0.1']

INSTALLED_APPS = []
MIDDLEWARE = [
    'django.middleware.common.CommonMiddleware',
]
ROOT_URLCONF = 'greetings.urls'
WSGI_APPLICATION = 'greetings.wsgi.application'

# Database
# https://docs.djangoproject.com/en/3.2/ref/settings/#databases
DATABASES = {
    'default': {
        'ENGINE': 'django.db.backends.postgresql',
        'NAME': '«database»',
        'USER': '«user»',
        'PASSWORD': '«password»',
        'HOST': '127.0.0.1',
        'PORT': '«port»',
        'CONN_MAX_AGE': 60,
    }
}

USE_TZ = True
